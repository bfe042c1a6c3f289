#include "nmstore/build/trust.hpp"

#include <fcntl.h>

#include <algorithm>

#include "nmstore/lock/package_manifest.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/line_file.hpp"

namespace pfnm {
namespace {

bool is_git(const std::string& resolved) {
  return resolved.starts_with("git+") || resolved.starts_with("git:") || resolved.starts_with("github:") ||
         resolved.starts_with("git@");
}

TrustItem plain_item(const std::string& what, const std::string& value) { return {what + " " + value, what}; }

bool ignores_scripts(const Resolution& resolution) {
  return std::any_of(resolution.config.differing.begin(), resolution.config.differing.end(), [](const auto& setting) {
    return setting.first == "ignore-scripts" && setting.second == "true";
  });
}

// patch-package is a program of the tree that the build runs.
void add_patch_package(const Resolution& resolution, std::vector<TrustItem>& items) {
  if (!resolution.patch_package) return;
  std::string arguments;
  for (const std::string& argument : *resolution.patch_package) arguments += " " + argument;
  items.push_back(plain_item("patches", (resolution.patches ? resolution.patches->to_hex() : "none") + arguments));
  if (const LockEntry* entry = resolution.lock.find("node_modules/patch-package"))
    items.push_back(package_item(resolution.lock, *entry));
}

std::string approval_path(const Store& store, const TrustItem& item) {
  return store.paths.approvals() + "/" + sha256(item.text).to_hex();
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

bool runs_something(const PackageManifest& manifest) {
  return std::any_of(manifest.scripts.begin(), manifest.scripts.end(), [](const auto& script) {
    return script.first == "preinstall" || script.first == "install" || script.first == "postinstall";
  });
}

}  // namespace

TrustItem package_item(const NpmLock& lock, const LockEntry& entry) {
  std::string identity = entry.integrity.empty() ? "resolved " + entry.resolved : entry.integrity;
  if (entry.in_bundle && entry.integrity.empty()) identity = "bundled in " + bundler_identity(lock, entry.path);
  return {"package " + entry.name + " " + entry.version + " " + identity, entry.name + "@" + entry.version};
}

std::vector<TrustItem> trust_items(const Resolution& resolution) {
  std::vector<TrustItem> items;
  items.push_back(plain_item(".npmrc", resolution.npmrc ? resolution.npmrc->to_hex() : "absent"));
  items.push_back(plain_item("allowScripts", resolution.root.allow_scripts));
  // Sources inside the project have no integrity of their own.
  for (const auto& [path, digest] : resolution.file_sources) items.push_back(plain_item("file:" + path, digest.to_hex()));
  // An old lock does not say which packages have scripts: it is approved as a whole.
  if (resolution.lock.lockfile_version == 1)
    items.push_back(plain_item("the lock (version 1)", resolution.report.fingerprint.to_hex()));
  add_patch_package(resolution, items);
  for (const LockEntry& entry : resolution.lock.entries) {
    if (entry.kind != EntryKind::package) continue;
    const bool runs = entry.has_install_script && !ignores_scripts(resolution);
    // npm prepares a git dependency by running its scripts while it packs it.
    if (runs || is_git(entry.resolved)) items.push_back(package_item(resolution.lock, entry));
  }
  return items;
}

Result<std::optional<TrustItem>> find_unapproved(const Store& store, const std::vector<TrustItem>& items) {
  for (const TrustItem& item : items) {
    PFNM_TRY_ASSIGN(const auto known, find_stat(AT_FDCWD, approval_path(store, item)));
    if (!known) return std::optional<TrustItem>{item};
  }
  return std::optional<TrustItem>{};
}

Status approve(const Fs& fs, const Store& store, const std::vector<TrustItem>& items) {
  PFNM_TRY(fs.ensure_dir(AT_FDCWD, store.paths.approvals(), 0700));
  for (const TrustItem& item : items) {
    const std::string path = approval_path(store, item);
    PFNM_TRY_ASSIGN(const auto known, find_stat(AT_FDCWD, path));
    if (known) continue;
    LineWriter out("approval", 1);
    out.line({"item", item.text});
    PFNM_TRY(fs.write_file(AT_FDCWD, path, std::move(out).finish(), 0600));
  }
  return {};
}

namespace {

// Walks what is on disk, not what the lock lists: a package may bring a node_modules of its own that no lock knows, and
// npm rebuild would find it.
class ScriptSurvey {
 public:
  ScriptSurvey(const Resolution& resolution, const std::string& install)
      : resolution_(resolution), install_(install) {}

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

  [[nodiscard]] std::vector<TrustItem>& items() { return items_; }

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
    if (!gyp && manifest.has_value() && !runs_something(*manifest)) return {};
    const LockEntry* entry = resolution_.lock.find(path);
    items_.push_back(entry != nullptr ? package_item(resolution_.lock, *entry)
                                      : TrustItem{"unlisted " + path + " " + resolution_.report.fingerprint.to_hex(),
                                                  path + " (which the lock does not list)"});
    return {};
  }

  const Resolution& resolution_;
  const std::string& install_;
  std::vector<TrustItem> items_;
};

}  // namespace

Result<std::vector<TrustItem>> survey_scripts(const Resolution& resolution, const std::string& install) {
  ScriptSurvey survey(resolution, install);
  PFNM_TRY(survey.look_into("node_modules"));
  for (const std::string& directory : workspace_directories(resolution.lock))
    PFNM_TRY(survey.look_into(directory + "/node_modules"));
  return std::move(survey.items());
}

}  // namespace pfnm
