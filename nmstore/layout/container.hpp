// One directory of a links layout: what is there, what the plan wants, and the steps between the two. The deciding part
// is pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/plan.hpp"
#include "nmstore/store/record.hpp"

namespace pfnm {

struct ExistingEntry {
  std::string name;
  FileType type = FileType::other;
  std::string link;  // of a symbolic link
};
[[nodiscard]] Result<std::vector<ExistingEntry>> list_existing(int dir, const std::string& path);

// What a workspace's binary has to become in .bin; depends on the worktree's file.
struct BinForm {
  enum class Kind { link, wrapper, none } kind = Kind::none;  // none: there is no such file (npm skips it too)
  std::string content;  // link text, or the wrapper's
};
[[nodiscard]] BinForm survey_bin(const std::string& project, const PlanItem& item);

// Copies whose identity on disk had to be looked at, because an interrupted re-link left two possibilities.
using KnownCopies = std::map<std::string, std::string>;  // path -> subtree digest

struct ContainerContext {
  const std::string& project;
  const LayoutPlan& plan;
  const PlanDir& dir;
  const std::vector<OwnEntry>& own;
  const std::string& store;  // links that lead straight into it are an older helper's: ours to replace
  KnownCopies copies;
  std::vector<std::string> writable;  // pfnm.writable: the worktree's own directories in node_modules
};

struct ContainerSteps {
  std::vector<std::string> remove;       // links (and bin wrappers) of ours
  std::vector<std::string> aside;        // not ours to delete
  std::vector<const PlanItem*> create;
  std::vector<std::string> old_scopes;   // scope directories the plan no longer has: emptied of our links, then removed
  [[nodiscard]] bool nothing_to_do() const {
    return remove.empty() && aside.empty() && create.empty() && old_scopes.empty();
  }
};

// Reads nothing but bin files (survey_bin).
[[nodiscard]] ContainerSteps plan_container(const ContainerContext& context,
                                            const std::vector<ExistingEntry>& existing);

// Is a symbolic link with this text one that a layout of ours makes?
[[nodiscard]] bool is_our_link(const ContainerContext& context, const ExistingEntry& entry);

}  // namespace pfnm
