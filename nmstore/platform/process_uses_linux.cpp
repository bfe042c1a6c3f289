#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "nmstore/platform/mounts.hpp"
#include "nmstore/platform/process_uses.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Real, effective, saved and file-system user id: "Uid:\t1000\t1000\t1000\t1000".
bool is_of_user(const std::string& process, uid_t user) {
  const auto status = find_file(AT_FDCWD, process + "/status");
  if (!status.has_value() || !*status) return false;
  const auto at = (*status)->find("\nUid:");
  if (at == std::string::npos) return false;
  std::string_view line = std::string_view(**status).substr(at + 5);
  line = line.substr(0, line.find('\n'));
  while (!line.empty()) {
    const auto start = line.find_first_not_of("\t ");
    if (start == std::string_view::npos) break;
    line.remove_prefix(start);
    const auto end = std::min(line.find_first_of("\t "), line.size());
    if (line.substr(0, end) == std::to_string(user)) return true;
    line.remove_prefix(end);
  }
  return false;
}

class Surveyor {
 public:
  explicit Surveyor(const std::function<bool(std::string_view)>& wanted) : wanted_(wanted) {}

  Result<ProcessSurvey> run() {
    PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, "/proc"));
    std::size_t processes = 0;
    for (const DirEntry& entry : entries) {
      if (!is_number(entry.name)) continue;
      ++processes;
      look_at(entry.name);
    }
    // Without /proc, or with a /proc that shows nobody, "no process uses it" would be a guess.
    if (processes == 0)
      return fail(Error::make(Errc::io, "list", "/proc", "it shows no process", "is proc mounted?"));
    return std::move(survey_);
  }

 private:
  void look_at(const std::string& pid) {
    pid_ = std::stoull(pid);
    const std::string process = "/proc/" + pid;
    if (!take_link(process + "/cwd", UseKind::working_directory)) {
      // Gone meanwhile, another user's, or one that hides.
      if (is_of_user(process, ::geteuid()) && errno_ == EACCES) ++survey_.hidden;
      return;
    }
    std::ignore = take_link(process + "/root", UseKind::root_directory);
    std::ignore = take_link(process + "/exe", UseKind::executable);
    const auto descriptors = take_descriptors(process + "/fd", {});
    take_mappings(process);
    take_mounts(process);
    take_threads(process, pid, descriptors);
  }

  // Threads may have a working directory and descriptors of their own (unshare(CLONE_FS), CLONE_FILES).
  void take_threads(const std::string& process, const std::string& pid, const std::vector<std::string>& descriptors) {
    const auto threads = list_dir_at(AT_FDCWD, process + "/task");
    if (!threads.has_value()) return;
    for (const DirEntry& thread : *threads) {
      if (thread.name == pid) continue;
      const std::string path = process + "/task/" + thread.name;
      std::ignore = take_link(path + "/cwd", UseKind::working_directory);
      std::ignore = take_descriptors(path + "/fd", descriptors);
    }
  }

  bool take_link(const std::string& path, UseKind kind) {
    const auto target = read_link_at(AT_FDCWD, path);
    if (!target.has_value()) {
      errno_ = target.error().sys_errno;
      return false;
    }
    take(*target, kind);
    return true;
  }

  // A table with just the numbers of `known` is the process's own, seen through a thread.
  std::vector<std::string> take_descriptors(const std::string& path, const std::vector<std::string>& known) {
    std::vector<std::string> names;
    const auto entries = list_dir_at(AT_FDCWD, path);
    if (!entries.has_value()) return names;
    for (const DirEntry& entry : *entries) names.push_back(entry.name);
    if (names == known) return names;
    for (const std::string& name : names) std::ignore = take_link(path + "/" + name, UseKind::open_file);
    return names;
  }

  void take_mappings(const std::string& process) {
    const auto maps = find_file(AT_FDCWD, process + "/maps");
    if (!maps.has_value() || !*maps) return;
    std::string_view text = **maps;
    std::string_view last;
    while (!text.empty()) {
      const auto newline = text.find('\n');
      const std::string_view path = mapped_path(text.substr(0, newline));
      text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
      if (path.empty() || path == last) continue;
      last = path;
      take(path, UseKind::mapping);
    }
  }

  // Something of the store mounted elsewhere (a container's bind mount) is used under another path.
  void take_mounts(const std::string& process) {
    const auto space = read_link_at(AT_FDCWD, process + "/ns/mnt");
    if (!space.has_value() || !mount_spaces_.insert(*space).second) return;
    const auto text = find_file(AT_FDCWD, process + "/mountinfo");
    if (!text.has_value() || !*text) return;
    for (const Mount& mount : parse_mountinfo(**text)) {
      take(mount.root, UseKind::mount);
      take(mount.mount_point, UseKind::mount);
    }
  }

  void take(std::string_view path, UseKind kind) {
    if (wanted_(path)) survey_.uses.push_back({pid_, kind, std::string(path)});
  }

  const std::function<bool(std::string_view)>& wanted_;
  ProcessSurvey survey_;
  std::set<std::string> mount_spaces_;
  std::uint64_t pid_ = 0;
  int errno_ = 0;
};

}  // namespace

Result<std::vector<Mount>> list_mounts() {
  PFNM_TRY_ASSIGN(const std::string text, read_file(AT_FDCWD, "/proc/self/mountinfo"));
  return parse_mountinfo(text);
}

Result<ProcessSurvey> survey_processes(const std::function<bool(std::string_view)>& wanted) {
  return Surveyor(wanted).run();
}

}  // namespace pfnm
