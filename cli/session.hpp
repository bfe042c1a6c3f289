// The composition root of pfnm-main: what every verb needs, found once, in the order in which its absence is reported.
#pragma once

#include <optional>
#include <string>

#include "cli/process_context.hpp"
#include "cli/progress.hpp"
#include "cli/provision.hpp"
#include "cli/settings.hpp"
#include "nmstore/build/ensure_install.hpp"
#include "nmstore/build/resolve.hpp"

namespace pfnm {

struct Session {
  Fs fs;
  ProcessContext process;

  [[nodiscard]] std::string absolute(const std::string& directory) const;
  [[nodiscard]] Result<GitCli> git() const;
  [[nodiscard]] Result<Store> existing_store() const;  // Errc::not_found where there never was one
};

// Everything up to the key: project, settings, store, toolchain, resolution.
struct Target {
  Project project;
  Store store;
  GitCli git;
  Settings settings;
  Programs programs;
  Resolution resolution;
};
[[nodiscard]] Result<Target> find_target(const Session& session, const std::string& directory);
// The same with a toolchain that was chosen before (a marker's).
[[nodiscard]] Result<Target> find_target_with(const Session& session, const std::string& directory,
                                              const Programs& programs);

// Waits (with a word on a terminal) while another pfnm works in the worktree.
[[nodiscard]] Result<FileLock> lock_worktree(const Session& session, const Store& store, const std::string& project,
                                             Progress& progress);

// The install of a target with a lease on it.
struct LeasedInstall {
  EnsuredInstall ensured;
  FileLock lease;
};
[[nodiscard]] Result<LeasedInstall> ensure_leased(const Session& session, Target& target, Progress& progress);

}  // namespace pfnm
