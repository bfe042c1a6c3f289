// From an install that is there to a worktree that uses it: decide from the facts, then apply. Shared by the front and
// pfnm-main; no JSON, no git, no node.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/git/project.hpp"
#include "nmstore/layout/links.hpp"
#include "nmstore/layout/private_copy.hpp"
#include "nmstore/layout/tree_survey.hpp"
#include "nmstore/platform/file_lock.hpp"
#include "nmstore/store/install_check.hpp"
#include "nmstore/store/seal.hpp"
#include "nmstore/store/store.hpp"

namespace pfnm {

enum class Force { no, yes };

enum class Decision {
  leave,         // it is what was asked for
  leave_private, // a private copy: only --force converts it
  first_link,
  relink,
  make_private,
  refuse,        // an unmarked node_modules is in the way
};
enum class SameAnswer { no, yes };  // record's install, fingerprint and settings are those wanted
// Pure. With Force::yes an unmarked or private tree counts as absent: the caller moves it to trash first.
[[nodiscard]] Decision decide(TreeState state, Layout wanted, SameAnswer same, Intact intact, Force force);

enum class Action { built, linked, relinked, unchanged, private_copy };
[[nodiscard]] std::string_view action_word(Action action);

struct ProvisionRequest {
  const Fs& fs;
  const Store& store;
  const Project& project;
  const Record& answer;  // install, fingerprint, toolchain, settings, inputs, configs
  const Seal& seal;
  Layout layout = Layout::links;
  Force force = Force::no;
  std::function<void(const CopyReport&)> progress;
};

struct ProvisionReport {
  Action action = Action::unchanged;
  Layout layout = Layout::links;
  std::string project;
  std::string install;  // its directory
  InstallName name;
  Intact intact = Intact::yes;
  MovedAside aside;
  std::string trashed;                 // where --force moved what was in the way
  std::vector<DamagedPath> damaged;    // what the cheap check found in the install
  std::optional<CopyReport> copied;
};

// The caller holds the worktree's lock and a lease on the install.
[[nodiscard]] Result<ProvisionReport> provision(const ProvisionRequest& request, const TreeSurvey& survey);

// One `link`, `private` or hook at a time in a worktree: a lock on the project's directory, or where the file system
// does not lock directories, on a file of the store.
[[nodiscard]] Result<std::optional<FileLock>> try_lock_worktree(const Fs& fs, const Store& store,
                                                                const std::string& project);

// The mapped plan and manifest of a sealed install, checked against the seal.
struct OpenInstall {
  LayoutPlan plan;
  ManifestView manifest;
};
[[nodiscard]] Result<OpenInstall> open_install(const Store& store, const Seal& seal);

}  // namespace pfnm
