// The links layout (SPEC part 3): node_modules as a real directory of symbolic links through one hop into the install.
//
// A first link is built in a git-ignored directory and moved in. A re-link writes its intent, then touches only names
// that differ. Whatever moment either is stopped at, the tree is marked and has no record, and the next run does it
// again from what it finds.
#pragma once

#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/layout/tree_survey.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/store/manifest.hpp"
#include "nmstore/store/plan.hpp"
#include "nmstore/store/record.hpp"

namespace pfnm {

struct LinkTarget {
  std::string project;
  std::string install;  // its directory
  const LayoutPlan& plan;
  const ManifestView& manifest;
  Record record;        // install, fingerprint, store, toolchain, settings, inputs, configs: the rest is filled in here
};

// Names that were in the way and are not pfnm's to delete: moved to `directory`, below node_modules.
struct MovedAside {
  std::string directory;           // relative to the project; empty: nothing was moved
  std::vector<std::string> paths;  // relative to the project, where they were
};

// node_modules must be absent or empty. The caller holds the worktree's lock and a lease on the install.
[[nodiscard]] Result<MovedAside> apply_first_link(const Fs& fs, const LinkTarget& target);
// The tree must be ours (linked or unfinished). Same locks.
[[nodiscard]] Result<MovedAside> apply_relink(const Fs& fs, const LinkTarget& target, const TreeSurvey& survey);

// Removes what an interrupted first link left in the project. The caller holds the worktree's lock.
[[nodiscard]] Status sweep_staging(const Fs& fs, const std::string& project);

// Prefix of the directories in which layouts are built; each holds a .gitignore of "*".
inline constexpr std::string_view k_staging_prefix = ".pfnm-new-";
// A new, empty one; returns its path.
[[nodiscard]] Result<std::string> make_staging(const Fs& fs, const std::string& project, std::string_view prefix);

// Moves `path` (relative to the project) into the aside directory of this run, made at the first need.
class Aside {
 public:
  Aside(const Fs& fs, const std::string& project) : fs_(fs), project_(project) {}
  Status move(const std::string& path);
  // The same for something that stood at `path` but is at `from` (absolute) now.
  Status move_from(const std::string& from, const std::string& path);
  [[nodiscard]] const MovedAside& moved() const { return moved_; }

 private:
  Status open();
  const Fs& fs_;
  const std::string& project_;
  MovedAside moved_;
};

// Directories that tools write into; real and writable in every layout (SPEC 3.5).
inline constexpr const char* k_writable_dirs[] = {".cache", ".vite", ".vite-temp", ".vitest", ".vitest-cache", ".tmp"};

}  // namespace pfnm
