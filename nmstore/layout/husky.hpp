// husky keeps its runner in `.husky/_`, which git ignores: a new worktree does not have it, and without it no hook runs
// there at all, silently (SPEC 5.3).
#pragma once

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fs.hpp"

namespace pfnm {

// Copies the main checkout's `.husky/_` into a worktree that has a `.husky` and no `_`. Does nothing anywhere else.
[[nodiscard]] Status provision_husky(const Fs& fs, const std::string& worktree, const std::string& common_dir);

// Would provision_husky have something to do, as far as the worktree alone can tell?
enum class HuskyRunner { complete, missing };
[[nodiscard]] HuskyRunner survey_husky(const std::string& worktree);

}  // namespace pfnm
