// The link plan of an install: what a links layout must create, computed once when the install is sealed and mapped by
// every link (SPEC 3.7). Binary; docs/store-format.md has the layout.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nmstore/base/result.hpp"

namespace pfnm {

enum class PlanOp : std::uint8_t {
  hop_link = 0,        // symlink `name` -> `target`, through .pf/shared
  workspace_link = 1,  // symlink `name` -> `target`, to the worktree's own directory
  workspace_bin = 2,   // `target` is the worktree's file relative to the directory: linked, or wrapped if not executable
  copy = 3,            // `target` is a path inside the install, copied whole to `name`; `identity` is its subtree digest
};

struct PlanItem {
  PlanOp op = PlanOp::hop_link;
  std::string name;
  std::string target;
  std::string identity;
};

enum class PlanDirKind : std::uint8_t {
  managed = 0,   // its names are ours; anything else in it was put there by somebody
  writable = 1,  // made if missing, never looked into
};

// `path` is relative to the project, parents before children.
struct PlanDir {
  std::string path;
  PlanDirKind kind = PlanDirKind::managed;
  std::vector<PlanItem> items;  // sorted by name
};

struct LayoutPlan {
  std::vector<PlanDir> dirs;
};

[[nodiscard]] std::string render_plan(const LayoutPlan& plan);
// Checks every offset, so that the result can be trusted to stay inside the text it was made from.
[[nodiscard]] Result<LayoutPlan> parse_plan(std::string_view bytes, std::string_view shown_path);

}  // namespace pfnm
