#include "nmstore/reclaim/reference_scan.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "nmstore/platform/mounts.hpp"
#include "nmstore/platform/os.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

constexpr std::int64_t k_second = 1'000'000'000LL;

std::string parent_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string join(const std::string& directory, const std::string& name) {
  return directory == "/" ? "/" + name : directory + "/" + name;
}

std::string nearest_existing(std::string path) {
  while (path != "/") {
    const auto st = find_stat(AT_FDCWD, path);
    if (st.has_value() && *st) break;
    path = parent_of(path);
  }
  return path;
}

std::int64_t changed_at(const std::string& path) {
  const auto st = find_stat(AT_FDCWD, path);
  return st.has_value() && *st ? (*st)->mtime_ns / k_second : 0;
}

std::string why_of(const Error& error) { return error.reason.empty() ? std::strerror(error.sys_errno) : error.reason; }

class Scanner {
 public:
  explicit Scanner(const ScanScope& scope) : scope_(scope) {
    if (const auto mounts = list_mounts(); mounts.has_value()) {
      for (const Mount& mount : *mounts)
        if (is_kernel_interface(mount.type)) kernel_interfaces_.insert(mount.mount_point);
    }
  }

  ReferenceScan run() {
    for (const std::string& worktree : scope_.worktrees) look_at_projects(worktree);  // guard:worktrees
    for (const std::string& root : scope_.roots) look_at_root(root);                  // guard:roots
    return std::move(scan_);
  }

 private:
  void look_at(const std::string& directory) {
    if (!seen_.insert(directory).second) return;
    Marker marker = read_marker(directory);
    if (marker.state == Marker::State::none) return;
    if (marker.state == Marker::State::unreadable && not_for_us(directory)) return;
    scan_.found.push_back({directory, std::move(marker)});
  }

  // As they are now: not there is no marker; a whole worktree that is not there is the mount table's matter only where
  // it was announced.
  void look_at_projects(const std::string& worktree) {
    look_at(join(worktree, "node_modules"));
    for (const std::string& below : scope_.below)
      if (!below.empty()) look_at(worktree + "/" + below + "/node_modules");
  }

  void look_at_root(const std::string& root) {
    const auto entries = list(root);
    if (!entries.has_value()) {
      const int error = entries.error().sys_errno;
      if (error != ENOENT && error != ENOTDIR) scan_.blind.push_back({"the root", root, why_of(entries.error())});
      return;
    }
    look_at(root);
    look_at_projects(root);
    for (const DirEntry& entry : *entries) {
      if (skips(root, entry)) continue;
      const std::string first = join(root, entry.name);
      look_at(first);
      look_at_projects(first);
      look_at_second_level(first);
    }
  }

  void look_at_second_level(const std::string& first) {
    if (!visited_.insert(first).second) return;
    const auto entries = list(first);
    if (!entries.has_value()) {
      const int error = entries.error().sys_errno;
      if (error == ENOENT || error == ENOTDIR || not_for_us(first)) return;  // gone meanwhile, or another user's
      scan_.blind.push_back({"the directory", first, why_of(entries.error())});  // guard:unreadable-directory
      return;
    }
    for (const DirEntry& entry : *entries) {
      if (skips(first, entry)) continue;
      const std::string second = join(first, entry.name);
      look_at(second);
      look_at_projects(second);
    }
  }

  static Result<std::vector<DirEntry>> list(const std::string& path) {
    PFNM_TRY_ASSIGN(const Fd fd, open_dir_at(AT_FDCWD, path));
    return list_dir(fd.get(), path);
  }

  // Links are not followed: what they lead to is a place of its own.
  bool skips(const std::string& parent, const DirEntry& entry) const {
    return entry.type != FileType::directory || entry.name == ".git" ||
           kernel_interfaces_.contains(join(parent, entry.name));
  }

  // Another user's directory that we may not enter cannot use a store that they may not enter (mode 0700, SPEC 2.1).
  static bool not_for_us(const std::string& directory) {
    if (::geteuid() == 0) return false;
    std::string at = directory;
    while (at != "/") {
      const auto st = find_stat(AT_FDCWD, at);
      if (st.has_value() && *st) {
        const bool closed = (*st)->is_dir() && ::access(at.c_str(), R_OK | X_OK) != 0 && errno == EACCES;
        return closed && (*st)->uid != ::geteuid();
      }
      at = parent_of(at);
    }
    return false;
  }

  const ScanScope& scope_;
  std::set<std::string> kernel_interfaces_;
  std::set<std::string> seen_;
  std::set<std::string> visited_;
  ReferenceScan scan_;
};

}  // namespace

ReferenceScan scan_for_markers(const ScanScope& scope) { return Scanner(scope).run(); }

Absence survey_absence(const std::string& path, const std::string& volume) {
  if (volume.empty()) return Absence::unmounted;
  const auto identity = os::identity_of(nearest_existing(path));
  if (!identity.has_value()) return Absence::unmounted;
  return identity->volume == volume ? Absence::gone : Absence::unmounted;  // guard:unmounted
}

ReferenceFact survey_announced(const Reference& reference) {
  ReferenceFact fact;
  fact.path = reference.project;
  fact.used_until = reference.announced_at;
  const auto project = find_stat(AT_FDCWD, reference.project);
  if (!project.has_value()) {
    fact.why = why_of(project.error());
    return fact;
  }
  if (!*project) {
    if (survey_absence(reference.project, reference.identity.volume) == Absence::unmounted) {
      fact.why = "it is not there, and the file system that it was on may just not be mounted";
      return fact;
    }
    fact.liveness = Liveness::dead;
    // Whoever removed it changed the directory that it was in.
    fact.used_until = std::max(fact.used_until, changed_at(nearest_existing(reference.project)));
    return fact;
  }
  const Marker marker = read_marker(reference.project + "/node_modules");
  if (marker.state == Marker::State::unreadable) {
    fact.why = marker.why;
    return fact;
  }
  if (marker.matches(reference.install)) {
    fact.liveness = Liveness::live;
    return fact;
  }
  // An empty directory in the place of an unmounted file system is not what was announced.
  const auto identity = os::identity_of(reference.project);
  if (!identity.has_value() || identity->volume != reference.identity.volume) {
    fact.why = "another file system is mounted there than the one that was announced";
    return fact;
  }
  fact.liveness = Liveness::dead;
  const std::int64_t changed =
      marker.state == Marker::State::names ? changed_at(reference.project + "/node_modules/" + k_hop_dir)
                                           : std::max(marker.changed_at, changed_at(reference.project));
  fact.used_until = std::max(fact.used_until, changed);
  return fact;
}

}  // namespace pfnm
