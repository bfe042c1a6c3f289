// What a repository says of itself: its worktrees, and the locks on its default branch.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/digest.hpp"
#include "nmstore/base/result.hpp"
#include "nmstore/git/git_cli.hpp"

namespace pfnm {

// The roots of every worktree that `common_dir` has an entry for, and of its main checkout. From git's own files, as
// written by git 2.39 to 2.55 (absolute, or relative to the entry). Whether they still are there is not asked.
[[nodiscard]] Result<std::vector<std::string>> list_worktree_roots(const std::string& common_dir);

// The commit that a clone of this repository's origin would check out: refs/remotes/<remote>/HEAD, or else what the
// remote answers; where there is no remote, the repository's own HEAD, and main and master besides. None where there is
// no commit yet.
// Errc::not_found where it cannot be determined.
[[nodiscard]] Result<std::vector<std::string>> default_branch_commits(const GitCli& git, const std::string& common_dir,
                                                                      std::chrono::milliseconds time_limit);

// The digests (as of a key) of every package-lock.json and npm-shrinkwrap.json in a commit, wherever in the tree.
[[nodiscard]] Result<std::vector<Digest>> lock_digests(const GitCli& git, const std::string& common_dir,
                                                       const std::string& commit);

}  // namespace pfnm
