// git's command line, asked with nothing of the caller's git environment (SPEC 1.8).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/git/project.hpp"
#include "nmstore/platform/process.hpp"

namespace pfnm {

// What a git child may see: no variable of `git rev-parse --local-env-vars`, messages in C, no prompts, no lock taken
// for a read.
[[nodiscard]] std::vector<std::string> git_environment(const std::vector<std::string>& environment);
// The names of `git rev-parse --local-env-vars`.
[[nodiscard]] bool is_git_local_variable(std::string_view name);

struct GitCli {
  std::string program;                   // absolute path
  std::vector<std::string> environment;  // of git_environment()
};

[[nodiscard]] Result<ChildResult> run_git(const GitCli& git, const std::string& directory,
                                          const std::vector<std::string>& arguments);

// The same, ended after `time_limit` (ChildResult::timed_out): for what may ask a remote.
[[nodiscard]] Result<ChildResult> run_git_within(const GitCli& git, const std::string& directory,
                                                 const std::vector<std::string>& arguments,
                                                 std::chrono::milliseconds time_limit);

// One value of `git config`, in git's own precedence (later wins), keys in lower case as git prints them.
struct ConfigValue {
  std::string key;
  std::string value;
  std::string file;  // where it came from; empty where it is not a file
};
struct GitConfig {
  std::vector<ConfigValue> values;  // only pfnm.*
  std::vector<std::string> files;   // every file that was or would be read, absolute; existing or not
  // Some file's part in the answer depends on more than its content (includeIf, worktree configuration, the command
  // line), so the answer may not be remembered for another worktree.
  enum class Cacheable { no, yes } cacheable = Cacheable::yes;
};
[[nodiscard]] Result<GitConfig> read_pfnm_config(const GitCli& git, const Worktree& worktree);
// The user's own: system and global, and the repository's that `directory` lies in, if it lies in one.
[[nodiscard]] Result<std::vector<ConfigValue>> read_user_config(const GitCli& git, const std::string& directory);
// A committed file in the same format; nothing but its `pfnm.*` values.
[[nodiscard]] Result<std::vector<ConfigValue>> read_config_file(const GitCli& git, const std::string& path);

// Makes git ignore every node_modules of the repository, if it does not yet: one line in the common info/exclude.
[[nodiscard]] Status ensure_ignored(const Fs& fs, const GitCli& git, const Project& project);

}  // namespace pfnm
