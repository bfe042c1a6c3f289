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
  std::string worktree;    // the git worktree that it lies in; empty in records of 0.1's first days
  std::string repository;  // the common git directory
  InstallName install;
  std::string layout;
  os::Identity identity;   // of the project directory
  std::string boot;        // the boot in which identity.dev holds
  std::int64_t announced_at = 0;
  std::string file;        // the record's name, where it was read from one
};

// What a former record of the same project said is remembered as a known place, and its install as used until now.
[[nodiscard]] Status announce_reference(const Fs& fs, const Store& store, const Reference& reference);
[[nodiscard]] Status drop_reference(const Fs& fs, const Store& store, const std::string& project);
// All records; one that cannot be read is an error (nothing may be reclaimed then).
[[nodiscard]] Result<std::vector<Reference>> list_references(const Store& store);
[[nodiscard]] Result<std::optional<Reference>> find_reference(const Store& store, const std::string& project);

// Where a worktree once was linked: its repository, and the directory that worktrees lie in. Kept when references go, so
// that copies and worktrees nobody announced are still looked for (SPEC 6.1).
struct KnownPlace {
  std::string repository;
  std::string root;       // the worktree's parent
  std::string below;      // the project's path in its worktree; usually empty
  std::string volume;     // of the worktree, as os::Identity says it
};
[[nodiscard]] KnownPlace place_of(const Reference& reference);
[[nodiscard]] Status remember_place(const Fs& fs, const Store& store, const KnownPlace& place);
[[nodiscard]] Status forget_place(const Fs& fs, const Store& store, const KnownPlace& place);
[[nodiscard]] Result<std::vector<KnownPlace>> list_places(const Store& store);

// Drops the record of a reference that was found dead, unless it was announced anew meanwhile. Its place is remembered.
[[nodiscard]] Status drop_dead_reference(const Fs& fs, const Store& store, const Reference& reference);

// Waits for a reclaim of this very install to end. The lease file's mtime says when the install was last announced or
// left.
[[nodiscard]] Result<FileLock> take_lease(const Fs& fs, const Store& store, const InstallName& name);

// Nothing where somebody links it right now.
[[nodiscard]] Result<std::optional<FileLock>> try_take_lease_exclusively(const Fs& fs, const Store& store,
                                                                         const InstallName& name);
// When it was last announced or left, in seconds since the epoch; 0: never.
[[nodiscard]] Result<std::int64_t> last_leased(const Store& store, const InstallName& name);

}  // namespace pfnm
