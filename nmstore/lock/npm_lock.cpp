#include "nmstore/lock/npm_lock.hpp"

#include <simdjson.h>

#include <algorithm>
#include <numeric>

#include "nmstore/lock/json_fields.hpp"
#include "nmstore/lock/lock_entry.hpp"
#include "nmstore/lock/lock_paths.hpp"

namespace pfnm {

namespace dom = simdjson::dom;
using lock_detail::bad_entry;
using lock_detail::bad_lock;

void NpmLock::index_entries() {
  by_path_.resize(entries.size());
  std::iota(by_path_.begin(), by_path_.end(), 0U);
  std::stable_sort(by_path_.begin(), by_path_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return entries[a].path < entries[b].path; });
}

const LockEntry* NpmLock::find(std::string_view path) const {
  auto at = std::lower_bound(by_path_.begin(), by_path_.end(), path,
                             [&](std::uint32_t i, std::string_view wanted) { return entries[i].path < wanted; });
  if (at == by_path_.end() || entries[*at].path != path) return nullptr;
  return &entries[*at];
}

namespace {

Result<int> read_version(const dom::object& top, std::string_view shown_path) {
  dom::element value;
  if (top["lockfileVersion"].get(value) != simdjson::SUCCESS)
    return fail(bad_lock(shown_path, "lockfileVersion is missing", "is this a package-lock.json that npm wrote?"));
  std::int64_t version = 0;
  if (value.get(version) != simdjson::SUCCESS || version < 1 || version > 3)
    return fail(bad_lock(shown_path, "lockfileVersion " + std::string(simdjson::minify(value)) + " is not supported",
                         "versions 1, 2 and 3 are"));
  return static_cast<int>(version);
}

Status read_packages(const dom::object& top, std::string_view shown_path, NpmLock& lock) {
  dom::object packages;
  if (top["packages"].get(packages) != simdjson::SUCCESS)
    return fail(bad_lock(shown_path, "it has no \"packages\" object", "let npm install write the lock again"));
  if (auto twice = json::duplicate_key(packages))
    return fail(bad_entry(shown_path, *twice, "is there twice", "let npm install write the lock again"));
  lock.entries.reserve(packages.size());
  for (const auto field : packages) {
    PFNM_TRY_ASSIGN(LockEntry entry, lock_detail::read_entry(field.key, field.value, shown_path));
    lock.entries.push_back(std::move(entry));
  }
  return {};
}

Status check_links(const NpmLock& lock, std::string_view shown_path) {
  for (const LockEntry& entry : lock.entries) {
    if (entry.kind != EntryKind::link) continue;
    const LockEntry* target = lock.find(entry.resolved);
    if (target == nullptr)
      return fail(bad_entry(shown_path, entry.path, "is a link whose target \"" + entry.resolved + "\" is missing",
                            "the lock is incomplete; let npm install write it again"));
    if (target->kind == EntryKind::link)
      return fail(bad_entry(shown_path, entry.path, "is a link to the link \"" + entry.resolved + "\""));
  }
  return {};
}

}  // namespace

Result<NpmLock> parse_npm_lock(std::string_view bytes, std::string_view shown_path) {
  dom::parser parser;
  const simdjson::padded_string text(json::without_bom(bytes));
  dom::element document;
  if (const auto error = parser.parse(text).get(document); error != simdjson::SUCCESS)
    return fail(json::not_json("use the lock", shown_path, bytes, simdjson::error_message(error)));
  dom::object top;
  if (document.get(top) != simdjson::SUCCESS) return fail(bad_lock(shown_path, "it is not a JSON object"));
  if (auto twice = json::duplicate_key(top))
    return fail(bad_lock(shown_path, "the key \"" + *twice + "\" is there twice"));
  NpmLock lock;
  PFNM_TRY_ASSIGN(lock.lockfile_version, read_version(top, shown_path));
  if (lock.lockfile_version == 1) {
    dom::element tree;
    if (top["dependencies"].get(tree) == simdjson::SUCCESS) {
      PFNM_TRY_ASSIGN(lock.ancient_package_count, lock_detail::check_ancient_tree(tree, shown_path));
    }
    return lock;
  }
  PFNM_TRY(read_packages(top, shown_path, lock));
  lock.index_entries();
  PFNM_TRY(check_links(lock, shown_path));
  return lock;
}

const LockEntry* link_target(const NpmLock& lock, const LockEntry& entry) {
  return entry.kind == EntryKind::link ? lock.find(entry.resolved) : &entry;
}

const LockEntry* resolve_dependency(const NpmLock& lock, std::string_view from_path, std::string_view name) {
  if (const LockEntry* from = lock.find(from_path); from != nullptr && from->kind == EntryKind::link)
    from_path = from->resolved;
  constexpr std::string_view k_modules = "node_modules";
  std::string candidate;
  while (true) {
    const std::size_t slash = from_path.rfind('/');
    const std::string_view last = slash == std::string_view::npos ? from_path : from_path.substr(slash + 1);
    if (last != k_modules) {
      candidate.assign(from_path);
      if (!candidate.empty()) candidate += '/';
      candidate.append(k_modules).append("/").append(name);
      if (const LockEntry* found = lock.find(candidate)) return found;
    }
    if (from_path.empty()) return nullptr;
    from_path = slash == std::string_view::npos ? std::string_view() : from_path.substr(0, slash);
  }
}

}  // namespace pfnm
