// Which packages reach which, over dependencies, optionalDependencies and peerDependencies (an optional peer counts
// when it resolves: the package would load it). Links are followed to their targets; cycles are fine.
#pragma once

#include <string>
#include <vector>

#include "nmstore/lock/npm_lock.hpp"

namespace pfnm {

// Packages (EntryKind::package) whose closure reaches a directory of the worktree through a link: a workspace, a file:
// directory or the project itself. Linked into the store they would not find it, so they are copied (SPEC 3.3).
// The packages that enclose one of them on disk are in the list too: a copy cannot lie inside a link. Sorted paths.
[[nodiscard]] std::vector<std::string> packages_reaching_workspaces(const NpmLock& lock);

// All packages whose closure reaches one of `targets` (paths of entries; unknown ones are ignored), the targets that
// are packages and all enclosing packages included: the reverse closure of SPEC 3.12. Sorted paths.
[[nodiscard]] std::vector<std::string> packages_reaching(const NpmLock& lock, const std::vector<std::string>& targets);

// The packages that `sources` (entry paths) can load by what they declare: the forward closure over dependencies,
// optionalDependencies and peerDependencies, the sources included. Sorted.
[[nodiscard]] std::vector<std::string> packages_reached_from(const NpmLock& lock,
                                                             const std::vector<std::string>& sources);

// Packages that the root or a workspace depends on directly by a tarball, a repository or an address instead of a version
// (file:x.tgz, git+..., https:..., user/repository). Sorted entry paths.
[[nodiscard]] std::vector<std::string> non_registry_dependencies(const NpmLock& lock);

}  // namespace pfnm
