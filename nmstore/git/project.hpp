// Where a command was pointed at: the git worktree around a directory, and the npm project in it. Found by reading git's
// own files, as every hook run does: no git process, no libgit2 (docs/decisions/0004).
#pragma once

#include <string>

#include "nmstore/base/result.hpp"

namespace pfnm {

// All absolute, links resolved.
struct Worktree {
  std::string root;
  std::string git_dir;     // its admin directory
  std::string common_dir;  // the repository's
};

// The innermost worktree that holds `directory`. Errc::not_found "not a git repository" where there is none;
// Errc::bad_input where its .git file leads nowhere.
[[nodiscard]] Result<Worktree> find_worktree(const std::string& directory);

struct Project {
  Worktree worktree;
  std::string root;       // the directory that holds the lock: `directory` or the nearest above it, inside the worktree
  std::string lock_name;  // "package-lock.json", or "npm-shrinkwrap.json", which npm prefers
  [[nodiscard]] std::string lock_path() const { return root + "/" + lock_name; }
};

// Errc::bad_input where no lock is found up to the worktree's root.
[[nodiscard]] Result<Project> find_project(const std::string& directory);

// Does git ignore every node_modules of this worktree? `yes` only where a plain pattern in .gitignore or info/exclude
// says so; `unsure` is a question for git itself.
enum class NodeModulesIgnored { yes, unsure };
[[nodiscard]] NodeModulesIgnored survey_ignored(const Worktree& worktree);

}  // namespace pfnm
