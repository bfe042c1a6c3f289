// `pfnm private`: an independent, writable copy in place of the links (SPEC 3.11). Reflinked where the file system can,
// else copied; equal to what `npm ci` makes, workspace links included.
//
// Built beside, then exchanged with what stands, workspaces' node_modules first and the root's last: the root's record
// is the commit point. What the links tree held that is not ours (caches, copies, packages somebody put there) is then
// carried over; that part can be resumed after a crash, and nothing of it is ever deleted.
#pragma once

#include <functional>
#include <string>

#include "nmstore/base/result.hpp"
#include "nmstore/layout/copy_tree.hpp"
#include "nmstore/layout/links.hpp"

namespace pfnm {

struct PrivateReport {
  CopyReport copied;
  MovedAside aside;
};

// The tree must be absent, linked or unfinished. The caller holds the worktree's lock and a lease on the install.
[[nodiscard]] Result<PrivateReport> apply_private(const Fs& fs, const LinkTarget& target, const TreeSurvey& survey,
                                                  const std::function<void(const CopyReport&)>& progress);

// Completes what an interrupted apply_private left. The caller holds the worktree's lock.
[[nodiscard]] Result<MovedAside> resume_private(const Fs& fs, const std::string& project);

}  // namespace pfnm
