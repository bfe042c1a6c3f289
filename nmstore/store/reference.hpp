// References: which worktrees use which install (SPEC 6.1). A worktree is announced before it is linked; a lease (a
// shared lock on the install) is held while it is linked, so that whoever reclaims either sees the reference or waits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/file_lock.hpp"
#include "nmstore/platform/os.hpp"
#include "nmstore/store/store.hpp"

namespace pfnm {

struct Reference {
  std::string project;     // absolute, links resolved
  std::string repository;  // the common git directory
  InstallName install;
  std::string layout;
  os::Identity identity;   // of the project directory
  std::string boot;        // the boot in which identity.dev holds
  std::int64_t announced_at = 0;
};

[[nodiscard]] Status announce_reference(const Fs& fs, const Store& store, const Reference& reference);
[[nodiscard]] Status drop_reference(const Fs& fs, const Store& store, const std::string& project);
// All records; one that cannot be read is an error (nothing may be reclaimed then).
[[nodiscard]] Result<std::vector<Reference>> list_references(const Store& store);
[[nodiscard]] Result<std::optional<Reference>> find_reference(const Store& store, const std::string& project);

enum class ReferenceState { live, dead, unknown };
// Dead only if the project is certainly gone, or is readable and no marker in it names this install (SPEC 6.3).
[[nodiscard]] ReferenceState survey_reference(const Store& store, const Reference& reference);

// Waits for a reclaim of this very install to end.
[[nodiscard]] Result<FileLock> take_lease(const Fs& fs, const Store& store, const InstallName& name);

}  // namespace pfnm
