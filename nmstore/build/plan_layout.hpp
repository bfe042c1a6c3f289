// The link plan of an install, computed once from its manifest and its lock (SPEC part 3). Pure.
#pragma once

#include <string>
#include <vector>

#include "nmstore/lock/npm_lock.hpp"
#include "nmstore/store/manifest.hpp"
#include "nmstore/store/plan.hpp"

namespace pfnm {

// Top-level packages (entry paths such as "node_modules/x", "packages/a/node_modules/@s/y") that must be real copies in
// the worktree: those whose closure reaches a workspace (SPEC 3.3), and Prisma's client where it generates into itself
// (SPEC 3.5), each with every package that reaches it; and tarball or repository dependencies with packages below them,
// which npm would not accept as links. Sorted.
[[nodiscard]] std::vector<std::string> copied_packages(const NpmLock& lock);

[[nodiscard]] LayoutPlan plan_layout(const ManifestView& manifest, const NpmLock& lock);

}  // namespace pfnm
