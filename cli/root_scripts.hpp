// The project's own lifecycle scripts, for those who want them run in each worktree (pfnm.rootScripts = run).
#pragma once

#include "cli/session.hpp"

namespace pfnm {

// In npm's order, root first and then workspaces, with `npm run` in the worktree; their output goes to stderr. A script
// that only calls patch-package is left out: the install is patched. Errc::refused as root on a linked tree, where a
// script could write into the shared install.
[[nodiscard]] Status run_root_scripts(const Session& session, const Target& target, Layout layout);

}  // namespace pfnm
