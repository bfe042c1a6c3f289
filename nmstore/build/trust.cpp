#include "nmstore/build/trust.hpp"

#include <fcntl.h>

#include <algorithm>

#include "nmstore/lock/closure.hpp"
#include "nmstore/lock/package_manifest.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/line_file.hpp"

namespace pfnm {
namespace {

bool is_git(const std::string& resolved) {
  return resolved.starts_with("git+") || resolved.starts_with("git:") || resolved.starts_with("github:") ||
         resolved.starts_with("git@");
}

bool ignores_scripts(const Resolution& resolution) {
  return std::any_of(resolution.config.differing.begin(), resolution.config.differing.end(), [](const auto& setting) {
    return setting.first == "ignore-scripts" && setting.second == "true";
  });
}

// A bundled package has no integrity of its own: it is what its bundler's tarball holds.
std::string bundler_identity(const NpmLock& lock, std::string path) {
  while (true) {
    const auto modules = path.rfind("/node_modules/");
    if (modules == std::string::npos) return "the project";
    path = path.substr(0, modules);
    const LockEntry* owner = lock.find(path);
    if (owner != nullptr && !owner->in_bundle) return owner->name + " " + owner->version + " " + owner->integrity;
  }
}

TrustItem package_item(const NpmLock& lock, const LockEntry& entry) {
  std::string identity = entry.integrity.empty() ? "resolved " + entry.resolved : entry.integrity;
  if (entry.in_bundle && entry.integrity.empty()) identity = "bundled in " + bundler_identity(lock, entry.path);
  return {"package " + entry.name + " " + entry.version + " " + identity, entry.name + "@" + entry.version};
}

TrustItem plain_item(const std::string& what, const std::string& value) { return {what + " " + value, what}; }

std::vector<TrustItem> project_items(const Resolution& resolution) {
  std::vector<TrustItem> items;
  items.push_back(plain_item(".npmrc", resolution.npmrc ? resolution.npmrc->to_hex() : "absent"));
  items.push_back(plain_item("allowScripts", resolution.root.allow_scripts));
  // Sources inside the project have no integrity of their own.
  for (const auto& [path, digest] : resolution.file_sources) items.push_back(plain_item("file:" + path, digest.to_hex()));
  // An old lock does not say which packages have scripts: it is approved as a whole.
  if (resolution.lock.lockfile_version == 1)
    items.push_back(plain_item("the lock (version 1)", resolution.report.fingerprint.to_hex()));
  if (!resolution.patch_package) return items;
  std::string arguments;
  for (const std::string& argument : *resolution.patch_package) arguments += " " + argument;
  items.push_back(plain_item("patches", (resolution.patches ? resolution.patches->to_hex() : "none") + arguments));
  return items;
}

// Entry paths of what runs in a build, and of what brings commands: from the lock or from the disk.
struct Runners {
  std::set<std::string> run;
  std::set<std::string> commands;
};

void add_paths(const Resolution& resolution, const std::set<std::string>& paths, std::vector<TrustItem>& items) {
  for (const std::string& path : paths) {
    const LockEntry* entry = resolution.lock.find(path);
    items.push_back(entry != nullptr ? package_item(resolution.lock, *entry)
                                     : TrustItem{"unlisted " + path + " " + resolution.report.fingerprint.to_hex(),
                                                 path + " (which the lock does not list)"});
  }
}

std::vector<TrustItem> runner_items(const Resolution& resolution, const Runners& runners) {
  std::vector<TrustItem> items;
  if (runners.run.empty()) return items;
  const auto loaded = packages_reached_from(resolution.lock, {runners.run.begin(), runners.run.end()});
  std::set<std::string> paths = runners.run;
  paths.insert(loaded.begin(), loaded.end());
  paths.insert(runners.commands.begin(), runners.commands.end());
  add_paths(resolution, paths, items);
  return items;
}

void add_patch_package(const Resolution& resolution, Runners& runners) {
  if (resolution.patch_package) runners.run.insert("node_modules/patch-package");
}

bool runs_something(const PackageManifest& manifest) {
  return std::any_of(manifest.scripts.begin(), manifest.scripts.end(), [](const auto& script) {
    return script.first == "preinstall" || script.first == "install" || script.first == "postinstall";
  });
}

std::string item_digest(const TrustItem& item) { return sha256(item.text).to_hex(); }

Result<std::set<std::string>> load_approvals(const Store& store) {
  std::set<std::string> known;
  const auto entries = list_dir_at(AT_FDCWD, store.paths.approvals());
  if (!entries.has_value()) {
    if (entries.error().code == Errc::not_found) return known;
    return fail(entries.error());
  }
  for (const DirEntry& entry : *entries) {
    const std::string path = store.paths.approvals() + "/" + entry.name;
    PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, path));
    if (!text) continue;
    // One that cannot be read approves nothing.
    const auto lines = parse_lines(*text, "approvals", 1, path);
    if (!lines.has_value()) continue;
    for (const Line& line : *lines) known.insert(line[0]);
  }
  return known;
}

}  // namespace

std::vector<TrustItem> required_items(const Resolution& resolution) {
  std::vector<TrustItem> items = project_items(resolution);
  Runners runners;
  add_patch_package(resolution, runners);
  for (const LockEntry& entry : resolution.lock.entries) {
    if (entry.kind != EntryKind::package) continue;
    const bool runs = entry.has_install_script && !ignores_scripts(resolution);
    // npm prepares a git dependency by running its scripts while it packs it.
    if (runs || is_git(entry.resolved)) runners.run.insert(entry.path);
    if (!entry.bin.empty()) runners.commands.insert(entry.path);
  }
  auto packages = runner_items(resolution, runners);
  items.insert(items.end(), packages.begin(), packages.end());
  return items;
}

std::vector<TrustItem> approvable_items(const Resolution& resolution) {
  std::vector<TrustItem> items = project_items(resolution);
  for (const LockEntry& entry : resolution.lock.entries)
    if (entry.kind == EntryKind::package) items.push_back(package_item(resolution.lock, entry));
  return items;
}

Result<std::optional<TrustItem>> find_unapproved(const Store& store, const std::vector<TrustItem>& items) {
  PFNM_TRY_ASSIGN(const auto known, load_approvals(store));
  for (const TrustItem& item : items)
    if (!known.contains(item_digest(item))) return std::optional<TrustItem>{item};
  return std::optional<TrustItem>{};
}

Status approve(const Fs& fs, const Store& store, const std::vector<TrustItem>& items) {
  PFNM_TRY_ASSIGN(const auto known, load_approvals(store));
  LineWriter out("approvals", 1);
  Hasher name;
  bool anything = false;
  for (const TrustItem& item : items) {
    const std::string digest = item_digest(item);
    if (known.contains(digest)) continue;
    anything = true;
    out.line({digest, item.text});
    name.update_field(digest);
  }
  if (!anything) return {};
  PFNM_TRY(fs.ensure_dir(AT_FDCWD, store.paths.approvals(), 0700));
  return fs.write_file(AT_FDCWD, store.paths.approvals() + "/" + name.finish().to_hex(), std::move(out).finish(), 0600);
}

namespace {

// Walks what is on disk, not what the lock lists: a package may bring a node_modules of its own that no lock knows, and
// npm rebuild would find it.
class DiskSurvey {
 public:
  explicit DiskSurvey(const std::string& install) : install_(install) {}

  Status look_into(const std::string& modules) {
    PFNM_TRY_ASSIGN(const auto there, find_stat(AT_FDCWD, install_ + "/" + modules));
    if (!there || !there->is_dir()) return {};
    PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, install_ + "/" + modules));
    for (const DirEntry& entry : entries) {
      if (entry.type != FileType::directory || entry.name.starts_with('.')) continue;
      const std::string path = modules + "/" + entry.name;
      if (!entry.name.starts_with('@')) {
        PFNM_TRY(look_at(path));
        continue;
      }
      PFNM_TRY_ASSIGN(const auto scoped, list_dir_at(AT_FDCWD, install_ + "/" + path));
      for (const DirEntry& child : scoped)
        if (child.type == FileType::directory) PFNM_TRY(look_at(path + "/" + child.name));
    }
    return {};
  }

  [[nodiscard]] Runners& runners() { return runners_; }

 private:
  Status look_at(const std::string& path) {
    const std::string directory = install_ + "/" + path;
    PFNM_TRY(look_into(path + "/node_modules"));
    const auto text = find_file(AT_FDCWD, directory + "/package.json");
    if (!text.has_value()) return fail(text.error());
    PFNM_TRY_ASSIGN(const auto gyp, find_stat(AT_FDCWD, directory + "/binding.gyp"));
    if (!*text && !gyp) return {};
    const auto manifest = parse_package_manifest(text->value_or(""), directory + "/package.json");
    // What cannot be read may run anything.
    if (gyp || !manifest.has_value() || runs_something(*manifest)) runners_.run.insert(path);
    const bool commands = !manifest.has_value() || !manifest->bin.empty() ||
                          text->value_or("").find("\"directories\"") != std::string::npos;
    if (commands) runners_.commands.insert(path);
    return {};
  }

  const std::string& install_;
  Runners runners_;
};

}  // namespace

Result<DiskTrust> survey_disk_trust(const Resolution& resolution, const std::string& install) {
  DiskSurvey survey(install);
  PFNM_TRY(survey.look_into("node_modules"));
  for (const std::string& directory : workspace_directories(resolution.lock))
    PFNM_TRY(survey.look_into(directory + "/node_modules"));
  Runners& runners = survey.runners();
  if (ignores_scripts(resolution)) runners.run.clear();
  DiskTrust trust;
  trust.runs = runners.run.empty() ? DiskTrust::Runs::nothing : DiskTrust::Runs::scripts;
  add_patch_package(resolution, runners);
  trust.items = runner_items(resolution, runners);
  return trust;
}

}  // namespace pfnm
