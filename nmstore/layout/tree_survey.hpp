// What stands at a worktree's node_modules, as facts (SPEC 3.2). Reads only.
#pragma once

#include <optional>
#include <string>

#include "nmstore/base/result.hpp"
#include "nmstore/store/plan.hpp"
#include "nmstore/store/record.hpp"

namespace pfnm {

enum class TreeState {
  absent,      // nothing, or an empty directory
  unmarked,    // the user's: never touched
  unfinished,  // ours, but a link or re-link did not get to its end: done again
  linked,      // ours, and its record can be read
  private_copy // ours once, the user's now: an independent copy
};

struct TreeSurvey {
  TreeState state = TreeState::absent;
  std::optional<Record> record;  // linked, private_copy; unfinished: what was intended, if that can be read
};

[[nodiscard]] Result<TreeSurvey> survey_tree(const std::string& project);

enum class Intact { no, yes };
// Are all entries still our links? Directories whose mtime is as recorded are not looked into; the others are compared
// name by name with the plan.
[[nodiscard]] Result<Intact> survey_intact(const std::string& project, const Record& record, const LayoutPlan& plan);
// The same without the plan: `yes` only where every mtime is as recorded; `no` may mean just "look closer".
[[nodiscard]] Intact survey_unmoved(const std::string& project, const Record& record);

// The hidden lock's mtime: npm trusts it only while no directory is newer (SPEC 3.6). 2037-12-31, the last year that
// every file system can hold.
inline constexpr std::int64_t k_layout_lock_mtime_ns = 2145830400LL * 1'000'000'000LL;

// Does the directory that a nested node_modules belongs to exist in this worktree? (A workspace may be missing: sparse
// checkout, or removed.) Always true for the root's.
[[nodiscard]] bool container_wanted(const std::string& project, const std::string& plan_dir_path);
// "packages/a/node_modules/@s" -> "packages/a/node_modules"
[[nodiscard]] std::string container_of(const std::string& plan_dir_path);

// A link text that leads through the hop, from wherever in the layout.
[[nodiscard]] bool is_hop_target(std::string_view target);

}  // namespace pfnm
