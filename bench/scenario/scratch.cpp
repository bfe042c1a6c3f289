#include "bench/scenario/scratch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "bench/scenario/stand_in.hpp"
#include "bench/support/synthetic.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/platform/os.hpp"
#include "nmstore/platform/process.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm::bench {
namespace {

constexpr const char* k_changed_branch = "changed";

std::string variable(std::string_view name) {
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (std::string_view(*entry).starts_with(std::string(name) + "=")) return *entry + name.size() + 1;
  return {};
}

// What would make git or pfnm answer for something else, and what is set anew.
bool is_dropped(std::string_view entry) {
  return entry.starts_with("GIT_") || entry.starts_with("PF_NM_MODE=") || entry.starts_with("PFNM_") ||
         entry.starts_with("PATH=") || entry.starts_with("HOME=");
}

}  // namespace

Result<Scratch> Scratch::make(const CreateOptions& options) {
  Scratch scratch(options);
  const Fs fs;
  PFNM_TRY(fs.ensure_dirs(options.directory));
  PFNM_TRY_ASSIGN(scratch.options_.directory, real_path(options.directory));
  if (scratch.options_.bin.empty()) {
    PFNM_TRY_ASSIGN(const std::string self, os::self_path());
    scratch.options_.bin = self.substr(0, self.find_last_of('/'));
  }
  const std::string& root = scratch.root();
  PFNM_TRY(fs.make_dir(AT_FDCWD, scratch.repository()));  // fails where an earlier run was: it must be fresh
  PFNM_TRY(fs.make_dir(AT_FDCWD, root + "/worktrees"));
  PFNM_TRY(fs.make_dir(AT_FDCWD, root + "/home"));
  scratch.path_ = variable("PATH");
  std::string home = variable("HOME");
  if (options.project.empty()) {
    PFNM_TRY(make_toolchain(root + "/toolchain", options.files_per_package));
    scratch.path_ = root + "/toolchain:" + scratch.path_;
    home = root + "/home";  // a real project needs the user's npm configuration and cache
  }
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!is_dropped(*entry)) scratch.environment_.emplace_back(*entry);
  scratch.environment_.push_back("PATH=" + scratch.path_);
  scratch.environment_.push_back("HOME=" + home);
  scratch.environment_.push_back("PFNM_STORE=" + (options.store.empty() ? root + "/store" : options.store));
  PFNM_TRY(run_checked(scratch.git(scratch.repository(), {"init", "-q", "-b", "main"})));
  PFNM_TRY(options.project.empty() ? scratch.fill_made_up() : scratch.fill_copied());
  return scratch;
}

Status Scratch::commit(const std::string& message) const {
  PFNM_TRY(run_checked(git(repository(), {"add", "-A"})));
  PFNM_TRY(run_checked(git(repository(), {"commit", "-q", "--no-verify", "-m", message})));
  return {};
}

Status Scratch::fill_made_up() const {
  const Fs fs;
  PFNM_TRY(fs.create_file(AT_FDCWD, repository() + "/.gitignore", "node_modules/\n"));
  for (const Lock lock : {Lock::base, Lock::changed}) {
    const std::size_t changed = lock == Lock::changed ? std::max<std::size_t>(2, options_.packages / 100) : 0;
    const SyntheticProject project = make_synthetic({options_.packages, 0, changed});
    PFNM_TRY(fs.write_file(AT_FDCWD, repository() + "/package-lock.json", render_lock(project)));
    PFNM_TRY(fs.write_file(AT_FDCWD, repository() + "/package.json", render_manifest_json(project)));
    PFNM_TRY(commit(lock == Lock::base ? "base" : "one package in a hundred differs"));
    if (lock == Lock::base) PFNM_TRY(run_checked(git(repository(), {"checkout", "-q", "-b", k_changed_branch})));
  }
  PFNM_TRY(run_checked(git(repository(), {"checkout", "-q", "main"})));
  return {};
}

Status Scratch::fill_copied() const {
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, options_.project));
  for (const DirEntry& entry : entries) {
    if (entry.name == "node_modules" || entry.name == ".git") continue;
    PFNM_TRY(run_checked(tool("cp", root(), {"-a", options_.project + "/" + entry.name, repository() + "/"})));
  }
  const std::string exclude = repository() + "/.git/info/exclude";
  PFNM_TRY(Fs().write_file(AT_FDCWD, exclude, "node_modules\n"));
  return commit("base");
}

Result<std::string> Scratch::add_worktree(const std::string& name, Lock lock) const {
  const std::string path = root() + "/worktrees/" + name;
  PFNM_TRY(run_checked(
      git(repository(), {"worktree", "add", "-q", "--detach", path, lock == Lock::base ? "main" : k_changed_branch})));
  return path;
}

Status Scratch::check_out(const std::string& worktree, Lock lock) const {
  PFNM_TRY(run_checked(git(worktree, {"checkout", "-q", "--detach", lock == Lock::base ? "main" : k_changed_branch})));
  return {};
}

Command Scratch::pfnm(const std::string& directory, std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), options_.bin + "/pfnm");
  return {std::move(arguments), directory, environment_};
}

Command Scratch::tool(const std::string& name, const std::string& directory, std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), find_program(name, path_).value_or("/usr/bin/" + name));
  return {std::move(arguments), directory, environment_};
}

Command Scratch::git(const std::string& directory, const std::vector<std::string>& arguments) const {
  std::vector<std::string> all{"-c", "user.name=bench",          "-c", "user.email=bench@example.invalid",
                               "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return tool("git", directory, std::move(all));
}

Command Scratch::replay(const std::string& script, const std::string& directory) const {
  return {{options_.bin + "/bench_replay", script, directory}, directory, environment_};
}

Command Scratch::nothing() const { return {{options_.bin + "/bench_replay"}, root(), environment_}; }

Status Scratch::settle() const {
  PFNM_TRY_ASSIGN(const Fd fd, open_dir_at(AT_FDCWD, root()));
  if (::syncfs(fd.get()) != 0) return fail_errno(errno, "write out", root());
  return {};
}

}  // namespace pfnm::bench
