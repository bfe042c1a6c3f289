#include "nmstore/build/layout_lock.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "nmstore/lock/closure.hpp"
#include "nmstore/lock/semver.hpp"

namespace pfnm {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view k_shared = "node_modules/.pf/shared";

bool is_package(std::string_view path) { return path.find("node_modules/") != std::string_view::npos; }

// "packages/a/node_modules/x" -> true, ".../x/node_modules/y" -> false: what stands in a workspace's own node_modules.
bool is_in_workspace_modules(std::string_view path) {
  const auto first = path.find("node_modules/");
  return first != 0 && first != std::string_view::npos && path.rfind("node_modules/") == first;
}

bool is_inside(const std::vector<std::string>& copied, std::string_view path) {
  return std::any_of(copied.begin(), copied.end(), [&](const std::string& package) {
    return path == package || (path.starts_with(package) && path[package.size()] == '/');
  });
}

// What the root and the workspaces depend on directly, where it resolves to.
std::set<std::string> direct_dependencies(const NpmLock& lock) {
  std::set<std::string> paths;
  for (const LockEntry& entry : lock.entries) {
    if (entry.kind != EntryKind::root && entry.kind != EntryKind::workspace) continue;
    for (const DependencyMap* map : {&entry.dependencies, &entry.dev_dependencies, &entry.optional_dependencies,
                                     &entry.peer_dependencies}) {
      for (const auto& [name, spec] : *map) {
        // An optional peer is no reason for a link entry: npm would call it extraneous.
        const bool optional_peer = map == &entry.peer_dependencies &&
                                   std::find(entry.optional_peers.begin(), entry.optional_peers.end(), name) !=
                                       entry.optional_peers.end();
        if (optional_peer) continue;
        const LockEntry* found = resolve_dependency(lock, entry.path, name);
        if (found != nullptr) paths.insert(found->path);
      }
    }
  }
  return paths;
}

// `entry` with the lock's hasInstallScript, in the lock's order of keys.
Json with_scripts_flag(const Json& entry, const Json& locked) {
  Json merged = Json::object();
  for (const auto& [key, value] : locked.items()) {
    if (entry.contains(key)) {
      merged[key] = entry[key];
    } else if (key == "hasInstallScript") {
      merged[key] = value;
    }
  }
  for (const auto& [key, value] : entry.items())
    if (!merged.contains(key)) merged[key] = value;
  return merged;
}

// Direct dependencies on a tarball, a repository or an address: npm holds their `resolved` against the specification and
// accepts no link in their place.
std::set<std::string> unlinkable_dependencies(const NpmLock& lock) {
  std::set<std::string> paths;
  for (const auto& path : non_registry_dependencies(lock)) paths.insert(path);
  return paths;
}

void add_override_names(const Json& overrides, std::set<std::string>& names) {
  if (!overrides.is_object()) return;
  for (const auto& [key, value] : overrides.items()) {
    // "name", "name@range", "@scope/name@range"; "." is the package itself.
    const auto at = key.find('@', 1);
    if (key != ".") names.insert(key.substr(0, at));
    add_override_names(value, names);
  }
}

std::set<std::string> overridden_names(std::string_view overrides) {
  std::set<std::string> names;
  const Json parsed = Json::parse(overrides, nullptr, false);
  if (!parsed.is_discarded()) add_override_names(parsed, names);
  return names;
}

void write_overridden_ranges(const NpmLock& lock, const std::set<std::string>& overridden, const std::string& path,
                             Json& entry) {
  if (overridden.empty() || !entry.is_object()) return;
  for (const char* kind : {"dependencies", "optionalDependencies", "peerDependencies"}) {
    if (!entry.contains(kind) || !entry[kind].is_object()) continue;
    for (auto& [name, range] : entry[kind].items()) {
      if (!overridden.contains(name) || !range.is_string()) continue;
      const LockEntry* found = resolve_dependency(lock, path, name);
      if (found == nullptr || found->kind != EntryKind::package || found->version.empty()) continue;
      if (!satisfies(found->version, range.get<std::string>())) range = found->version;
    }
  }
}

Json stub(const std::string& name, const std::string& version) {
  return Json{{"name", name}, {"version", version.empty() ? "0.0.0" : version}, {"extraneous", true}};
}

}  // namespace

Result<std::string> with_workspace_scripts(std::string_view hidden, std::string_view lock) {
  if (lock.starts_with("\xEF\xBB\xBF")) lock.remove_prefix(3);
  Json document = Json::parse(hidden, nullptr, false);
  const Json locked = Json::parse(lock, nullptr, false);
  if (!document.is_object() || !document.contains("packages") || !document["packages"].is_object() ||
      !locked.is_object() || !locked.contains("packages"))
    return std::string(hidden);
  bool changed = false;
  for (auto& [path, entry] : document["packages"].items()) {
    if (is_package(path) || !entry.is_object() || !locked["packages"].contains(path)) continue;
    const Json& known = locked["packages"][path];
    if (!known.is_object() || !known.contains("hasInstallScript") || entry.contains("hasInstallScript")) continue;
    entry = with_scripts_flag(entry, known);
    changed = true;
  }
  return changed ? document.dump(2) + "\n" : std::string(hidden);
}

Result<std::string> render_layout_lock(const LayoutLockInputs& inputs) {
  const NpmLock& lock = inputs.lock;
  Json document = Json::parse(inputs.hidden, nullptr, false);
  if (document.is_discarded() || !document.is_object() || !document.contains("packages") ||
      !document["packages"].is_object())
    return fail(Error::make(Errc::corrupt, "read", "node_modules/.package-lock.json", "npm left no hidden lock"));
  const std::set<std::string> direct = direct_dependencies(lock);
  std::map<std::string, Json> packages;
  const std::set<std::string> unlinkable = unlinkable_dependencies(lock);
  const std::set<std::string> overridden = overridden_names(inputs.overrides);
  const std::string prefix = std::string(k_shared) + "/";
  for (auto& [path, entry] : document["packages"].items()) {
    const bool link = entry.is_object() && entry.value("link", false);
    if (!is_package(path) || link) {
      packages[path] = entry;
      continue;
    }
    if (!inputs.manifest.find(path)) continue;
    write_overridden_ranges(lock, overridden, path, entry);
    packages[prefix + path] = entry;
    if (is_inside(inputs.copied, path) || unlinkable.contains(path)) {
      packages[path] = entry;
    } else if (direct.contains(path) || is_in_workspace_modules(path)) {
      packages[path] = Json{{"resolved", prefix + path}, {"link", true}};
    }
  }
  const LockEntry* root = lock.root();
  const std::string root_name = root != nullptr && !root->name.empty() ? root->name : "shared";
  packages[std::string(k_shared)] = stub(root_name, root != nullptr ? root->version : "");
  // npm takes what lies below a package of the project for its own to remove, but looks only one level down. With an entry
  // for .pf itself the install is two levels down: `npm install` (run by root above all) retires .pf, a link, and never
  // reaches through it. npm must have seen the directory, hence the link .pf-dir (docs/decisions/0007).
  packages["node_modules/.pf"] = stub(".pf", "");
  // A workspace that this checkout does not have was not staged either: npm must not look for its directory.
  for (const LockEntry& entry : lock.entries)
    if (entry.kind == EntryKind::workspace && inputs.manifest.find(entry.path)) packages[prefix + entry.path] = stub(entry.name, entry.version);
  Json sorted = Json::object();
  for (auto& [path, entry] : packages) sorted[path] = std::move(entry);
  document["packages"] = std::move(sorted);
  return document.dump(2) + "\n";
}

}  // namespace pfnm
