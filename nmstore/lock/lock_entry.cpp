#include "nmstore/lock/lock_entry.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "nmstore/lock/json_fields.hpp"
#include "nmstore/lock/lock_paths.hpp"

namespace pfnm::lock_detail {

namespace dom = simdjson::dom;

Error bad_lock(std::string_view shown_path, std::string_view reason, std::string_view hint) {
  return Error::make(Errc::bad_input, "use the lock", shown_path, reason, hint);
}

Error bad_entry(std::string_view shown_path, std::string_view key, std::string_view reason, std::string_view hint) {
  return bad_lock(shown_path, "entry \"" + std::string(key) + "\" " + std::string(reason), hint);
}

namespace {

constexpr std::string_view k_outside_hint =
    "a file: dependency has to lie inside the project; make it a workspace or publish it";
constexpr std::string_view k_rewrite_hint = "let npm install write the lock again";

struct TextField {
  std::string_view key;
  std::string LockEntry::*member;
};
constexpr std::array<TextField, 4> k_text_fields{{{"name", &LockEntry::name},
                                                  {"version", &LockEntry::version},
                                                  {"resolved", &LockEntry::resolved},
                                                  {"integrity", &LockEntry::integrity}}};

struct FlagField {
  std::string_view key;
  bool LockEntry::*member;
};
constexpr std::array<FlagField, 7> k_flag_fields{{{"inBundle", &LockEntry::in_bundle},
                                                  {"optional", &LockEntry::optional},
                                                  {"dev", &LockEntry::dev},
                                                  {"devOptional", &LockEntry::dev_optional},
                                                  {"peer", &LockEntry::peer},
                                                  {"hasInstallScript", &LockEntry::has_install_script},
                                                  {"hasShrinkwrap", &LockEntry::has_shrinkwrap}}};

struct MapField {
  std::string_view key;
  DependencyMap LockEntry::*member;
};
constexpr std::array<MapField, 4> k_map_fields{{{"dependencies", &LockEntry::dependencies},
                                                {"devDependencies", &LockEntry::dev_dependencies},
                                                {"optionalDependencies", &LockEntry::optional_dependencies},
                                                {"peerDependencies", &LockEntry::peer_dependencies}}};

struct ListField {
  std::string_view key;
  std::vector<std::string> LockEntry::*member;
};
constexpr std::array<ListField, 4> k_list_fields{{{"os", &LockEntry::os},
                                                  {"cpu", &LockEntry::cpu},
                                                  {"libc", &LockEntry::libc},
                                                  {"bundleDependencies", &LockEntry::bundle_dependencies}}};

template <typename Fields>
const typename Fields::value_type* find_field(const Fields& fields, std::string_view key) {
  auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

// npm asks for engines.node of an object; the array form of old packages limits nothing.
std::string engines_node(const dom::element& engines) {
  for (const auto& engine : json::text_members(engines)) {
    if (engine.first == "node") return engine.second;
  }
  return {};
}

std::vector<std::string> optional_peers(const dom::element& meta) {
  std::vector<std::string> names;
  dom::object peers;
  if (meta.get(peers) != simdjson::SUCCESS) return names;
  for (const auto peer : peers) {
    bool optional = false;
    if (peer.value["optional"].get(optional) == simdjson::SUCCESS && optional) names.emplace_back(peer.key);
  }
  return names;
}

// "is not a string" and the like; nothing when the field was read, or is none of ours.
// A wrong type is an error where npm would take the value as true or as an address, so that no two readings exist.
std::optional<std::string> read_field(LockEntry& entry, std::string_view key, const dom::element& value) {
  if (const auto* text = find_field(k_text_fields, key)) {
    if (!value.is_string()) return "has a \"" + std::string(key) + "\" that is not a string";
    entry.*(text->member) = json::text(value);
  } else if (const auto* flag = find_field(k_flag_fields, key)) {
    if (value.get(entry.*(flag->member)) != simdjson::SUCCESS)
      return "has a \"" + std::string(key) + "\" that is not true or false";
  } else if (const auto* map = find_field(k_map_fields, key)) {
    dom::object object;
    if (value.get(object) != simdjson::SUCCESS) return "has \"" + std::string(key) + "\" that are not an object";
    if (auto twice = json::duplicate_key(object)) return "has \"" + *twice + "\" twice in \"" + std::string(key) + "\"";
    entry.*(map->member) = json::text_members(value);
  } else if (const auto* list = find_field(k_list_fields, key)) {
    entry.*(list->member) = json::text_list(value);
  } else if (key == "engines") {
    entry.engines_node = engines_node(value);
  } else if (key == "peerDependenciesMeta") {
    entry.optional_peers = optional_peers(value);
  } else if (key == "workspaces") {
    entry.workspaces = json::workspace_globs(value);
  }
  return std::nullopt;
}

EntryKind kind_of(std::string_view key) {
  switch (lock_path::place_of(key)) {
    case lock_path::Place::root:
      return EntryKind::root;
    case lock_path::Place::outside_node_modules:
      return EntryKind::workspace;
    case lock_path::Place::in_node_modules:
      return EntryKind::package;
  }
  return EntryKind::package;
}

std::optional<Error> finish_link(LockEntry& entry, std::string_view shown_path) {
  if (entry.kind != EntryKind::package)
    return bad_entry(shown_path, entry.path, "is a link outside node_modules", k_rewrite_hint);
  auto target = lock_path::inside_project(entry.resolved);
  if (!target)
    return bad_entry(shown_path, entry.path, "links to \"" + entry.resolved + "\", which leaves the project",
                     k_outside_hint);
  entry.kind = EntryKind::link;
  entry.resolved = *std::move(target);
  return std::nullopt;
}

std::optional<Error> check_file_address(const LockEntry& entry, std::string_view shown_path) {
  const auto address = lock_path::file_address(entry.resolved);
  if (!address || lock_path::inside_project(*address)) return std::nullopt;
  return bad_entry(shown_path, entry.path, "comes from \"" + entry.resolved + "\", which leaves the project",
                   k_outside_hint);
}

}  // namespace

Result<LockEntry> read_entry(std::string_view key, const dom::element& value, std::string_view shown_path) {
  if (auto problem = lock_path::key_problem(key)) {
    const bool outside = *problem == "leaves the project";
    return fail(bad_entry(shown_path, key, *problem, outside ? k_outside_hint : k_rewrite_hint));
  }
  dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return fail(bad_entry(shown_path, key, "is not an object"));
  if (auto twice = json::duplicate_key(object))
    return fail(bad_entry(shown_path, key, "has the key \"" + *twice + "\" twice", k_rewrite_hint));
  LockEntry entry;
  entry.path = key;
  entry.kind = kind_of(key);
  bool link = false;
  bool resolved = false;
  for (const auto field : object) {
    if (auto problem = read_field(entry, field.key, field.value))
      return fail(bad_entry(shown_path, key, *problem, k_rewrite_hint));
    if (field.key == "link" && field.value.get(link) != simdjson::SUCCESS)
      return fail(bad_entry(shown_path, key, "has a \"link\" that is not true or false", k_rewrite_hint));
    resolved = resolved || field.key == "resolved";
  }
  if (entry.name.empty()) entry.name = lock_path::name_of(key);
  dom::element bin;
  if (object["bin"].get(bin) == simdjson::SUCCESS) entry.bin = json::bins(bin, entry.name);
  if (link && !resolved) return fail(bad_entry(shown_path, key, "is a link that names no target", k_rewrite_hint));
  if (auto error = link ? finish_link(entry, shown_path) : check_file_address(entry, shown_path)) return fail(*error);
  return entry;
}

}  // namespace pfnm::lock_detail
