#include "nmstore/lock/lock_key.hpp"

#include <algorithm>
#include <charconv>

#include "nmstore/lock/lock_paths.hpp"
#include "nmstore/lock/semver.hpp"

namespace pfnm {

namespace {

using Items = std::vector<std::pair<std::string, std::string>>;

// The flags are npm's hints, so whatever may be optional counts as optional: a suffix too many costs a little space,
// one too few would share a wrong tree.
bool may_be_optional(const LockEntry& entry) { return entry.optional || entry.dev_optional; }

bool depends_on_platform(const NpmLock& lock) {
  if (lock.lockfile_version == 1) return true;  // such a lock knows nothing of scripts and platforms
  return std::any_of(lock.entries.begin(), lock.entries.end(), [](const LockEntry& entry) {
    const bool installed = entry.kind == EntryKind::package || entry.kind == EntryKind::workspace;
    return installed && (entry.has_install_script || !entry.os.empty() || !entry.cpu.empty() || !entry.libc.empty() ||
                         (may_be_optional(entry) && !entry.engines_node.empty()));
  });
}

bool has_install_scripts(const NpmLock& lock) {
  if (lock.lockfile_version == 1) return true;
  return std::any_of(lock.entries.begin(), lock.entries.end(), [](const LockEntry& entry) {
    return entry.kind == EntryKind::package && entry.has_install_script;
  });
}

std::string platform_text(const Toolchain& toolchain) {
  std::string text = toolchain.platform + '-' + toolchain.arch;
  if (!toolchain.libc.empty()) text += '-' + toolchain.libc;
  return text + "-abi" + toolchain.modules_abi;
}

// Optional packages that npm leaves out because of node's version.
std::string engines_left_out(const NpmLock& lock, std::string_view node_version) {
  std::vector<std::string> paths;
  for (const LockEntry& entry : lock.entries) {
    const bool limited = may_be_optional(entry) && !entry.engines_node.empty();
    if (limited && !satisfies(node_version, entry.engines_node)) paths.push_back(entry.path);
  }
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "" : " ") + path;
  return text;
}

void add_fields(Hasher& hasher, std::string_view kind, DependencyMap map) {
  std::sort(map.begin(), map.end());
  hasher.update_field(kind);
  for (const auto& entry : map) {
    hasher.update_field(entry.first);
    hasher.update_field(entry.second);
  }
}

// npm lists an optional dependency under `dependencies` as well in some places; it counts as optional only.
DependencyMap required_dependencies(const DependencyMap& dependencies, const DependencyMap& optional) {
  DependencyMap required;
  for (const auto& dependency : dependencies) {
    const bool is_optional = std::any_of(optional.begin(), optional.end(),
                                         [&](const auto& other) { return other.first == dependency.first; });
    if (!is_optional) required.push_back(dependency);
  }
  return required;
}

// What both a manifest and its entry in the lock say. The name of a workspace is that of its link, its bins are linked.
template <typename Source>
Digest declared(const Source& source, EntryKind kind, std::string_view name) {
  Hasher hasher;
  add_fields(hasher, "dependencies", required_dependencies(source.dependencies, source.optional_dependencies));
  add_fields(hasher, "devDependencies", source.dev_dependencies);
  add_fields(hasher, "optionalDependencies", source.optional_dependencies);
  add_fields(hasher, "peerDependencies", source.peer_dependencies);
  std::vector<std::string> globs = source.workspaces;
  std::sort(globs.begin(), globs.end());
  if (kind == EntryKind::root) {
    for (const std::string& glob : globs) hasher.update_field(glob);
  } else {
    add_fields(hasher, "bin", source.bin);
    hasher.update_field(name);
  }
  return hasher.finish();
}

std::string manifest_name(const PackageManifest& manifest, const std::string& directory) {
  return manifest.name.empty() ? lock_path::name_of(directory) : manifest.name;
}

void add_manifest(Items& items, const NpmLock& lock, const std::string& directory, const PackageManifest& manifest) {
  const LockEntry* entry = lock.find(directory);
  const EntryKind kind = directory.empty() ? EntryKind::root : EntryKind::workspace;
  const Digest here = declared(manifest, kind, manifest_name(manifest, directory));
  if (entry != nullptr && entry->kind == kind && declared(*entry, kind, entry->name) == here) return;
  const std::string what = lock.lockfile_version == 1 ? "manifest: " : "manifest differs from the lock: ";
  items.emplace_back(what + (directory.empty() ? "package.json" : directory), here.to_hex());
}

// A v1 lock does not say what its manifests were, so they always go in.
void add_manifests(Items& items, const KeyInputs& inputs) {
  add_manifest(items, inputs.lock, "", inputs.root);
  auto workspaces = inputs.workspaces;
  std::sort(workspaces.begin(), workspaces.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& workspace : workspaces) add_manifest(items, inputs.lock, workspace.first, workspace.second);
  std::vector<std::string> directories = workspace_directories(inputs.lock);
  std::sort(directories.begin(), directories.end());
  for (const std::string& directory : directories) {
    const bool given = std::any_of(workspaces.begin(), workspaces.end(),
                                   [&](const auto& workspace) { return workspace.first == directory; });
    if (!given) items.emplace_back("manifest missing: " + directory, "");
  }
}

Items differing_items(const KeyInputs& inputs) {
  Items items;
  switch (npm_class(inputs.toolchain.npm_version)) {
    case NpmClass::npm10:
      items.emplace_back("npm class", "10");
      break;
    case NpmClass::npm11:
      break;  // the default
    case NpmClass::npm12:
      items.emplace_back("npm class", "12");
      break;
  }
  const std::string left_out = engines_left_out(inputs.lock, inputs.toolchain.node_version);
  if (!left_out.empty()) items.emplace_back("left out by engines", left_out);
  auto settings = inputs.config.differing;
  if (!has_install_scripts(inputs.lock))
    std::erase_if(settings, [](const auto& setting) { return only_reaches_scripts(setting.first); });
  std::sort(settings.begin(), settings.end());
  for (const auto& setting : settings) items.emplace_back("npmrc " + setting.first, setting.second);
  if (!inputs.root.allow_scripts.empty()) items.emplace_back("allowScripts", inputs.root.allow_scripts);
  if (!inputs.root.overrides.empty()) items.emplace_back("overrides", inputs.root.overrides);
  if (inputs.patches) items.emplace_back("patches", inputs.patches->to_hex());
  auto sources = inputs.file_sources;
  std::sort(sources.begin(), sources.end());
  for (const auto& source : sources) items.emplace_back("file " + source.first, source.second.to_hex());
  add_manifests(items, inputs);
  return items;
}

Digest hash_items(const Items& items) {
  Hasher hasher;
  for (const auto& item : items) {
    hasher.update_field(item.first);
    hasher.update_field(item.second);
  }
  return hasher.finish();
}

}  // namespace

NpmClass npm_class(std::string_view npm_version) {
  if (!npm_version.empty() && npm_version.front() == 'v') npm_version.remove_prefix(1);
  int major = 11;
  std::from_chars(npm_version.data(), npm_version.data() + npm_version.size(), major);
  if (major <= 10) return NpmClass::npm10;
  return major == 11 ? NpmClass::npm11 : NpmClass::npm12;
}

KeyReport compute_key(const KeyInputs& inputs) {
  KeyReport report;
  const std::string lock_hex = inputs.lock_digest.to_hex();
  report.key.text = lock_hex;
  report.items.emplace_back("lock", lock_hex);
  if (depends_on_platform(inputs.lock)) {
    const std::string platform = platform_text(inputs.toolchain);
    report.key.text += '-' + platform;
    report.items.emplace_back("platform", platform);
  }
  const Items differing = differing_items(inputs);
  if (!differing.empty()) report.key.text += "-x" + hash_items(differing).to_hex().substr(0, 8);
  report.items.insert(report.items.end(), differing.begin(), differing.end());
  report.fingerprint = hash_items(report.items);
  return report;
}

namespace {

bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

bool is_word(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

bool is_abi(std::string_view part) {
  return part.size() > 3 && part.substr(0, 3) == "abi" &&
         part.substr(3).find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_platform(const std::vector<std::string_view>& parts) {
  if (parts.size() != 3 && parts.size() != 4) return false;
  const bool libc = parts.size() == 3 || parts[2] == "glibc" || parts[2] == "musl";
  return is_word(parts[0]) && is_word(parts[1]) && libc && is_abi(parts.back());
}

}  // namespace

bool is_lock_key(std::string_view text) {
  constexpr std::size_t k_hex_length = 64;
  if (text.size() < k_hex_length || !is_hex(text.substr(0, k_hex_length))) return false;
  text.remove_prefix(k_hex_length);
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    if (text.front() != '-') return false;
    const std::size_t next = text.find('-', 1);
    parts.push_back(text.substr(1, next == std::string_view::npos ? next : next - 1));
    text.remove_prefix(std::min(next, text.size()));
  }
  if (!parts.empty() && parts.back().size() == 9 && parts.back()[0] == 'x' && is_hex(parts.back().substr(1)))
    parts.pop_back();
  return parts.empty() || is_platform(parts);
}

namespace {

std::vector<std::string> file_paths(const NpmLock& lock, lock_path::FileKind wanted) {
  std::vector<std::string> paths;
  for (const LockEntry& entry : lock.entries) {
    if (entry.kind != EntryKind::package) continue;
    const auto address = lock_path::file_address(entry.resolved);
    const auto path = address ? lock_path::inside_project(*address) : std::nullopt;
    if (path && lock_path::file_kind(*path) == wanted) paths.push_back(*path);
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

}  // namespace

std::vector<std::string> local_tarballs(const NpmLock& lock) { return file_paths(lock, lock_path::FileKind::tarball); }

std::vector<std::string> install_links_directories(const NpmLock& lock) {
  return file_paths(lock, lock_path::FileKind::directory);
}

std::vector<std::string> workspace_directories(const NpmLock& lock) {
  std::vector<std::string> paths;
  for (const LockEntry& entry : lock.entries) {
    if (entry.kind == EntryKind::workspace) paths.push_back(entry.path);
  }
  return paths;
}

std::size_t estimated_bytes(const NpmLock& lock) {
  // Fitted to the installs of npm.md 3.6: 125 packages 53 MB, 1379 packages 1090 MB, 1754 packages 1417 MB, 2632
  // packages 1084 MB. Bundled packages come inside their owner's tarball.
  constexpr std::size_t k_bytes_per_package = 768U * 1024U;
  const auto counted = std::count_if(lock.entries.begin(), lock.entries.end(), [](const LockEntry& entry) {
    return entry.kind == EntryKind::package && !entry.in_bundle;
  });
  return (static_cast<std::size_t>(counted) + lock.ancient_package_count) * k_bytes_per_package;
}

}  // namespace pfnm
