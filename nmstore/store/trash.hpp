// The trash of the store (SPEC 6.4): where reclaimed installs and whatever else was in the way wait for 24 hours, each
// with a record of where it came from and why. What no record explains is reported and never deleted.
//
//   trash/t-X           what was moved
//   trash/t-X.record    from, why, when; written first
//   trash/t-X.seal      of an install: its seal. Renaming it here is what unpublishes the install.
//   trash/d-X           t-X once its deletion began; taking back and deleting are each one rename of t-X, so only one wins
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/store/store.hpp"

namespace pfnm {

enum class TrashState {
  whole,    // t-X is there
  doomed,   // d-X is: deleted in part
  pending,  // only the seal is: the reclaim or the taking back of an install stopped half-way
  empty,    // nothing but the record
};

struct TrashItem {
  std::string id;  // "t-X"
  TrashState state = TrashState::whole;
  std::string from;
  std::string why;
  std::int64_t trashed_at = 0;
  std::optional<InstallName> install;  // of a reclaimed install, which `link` may take back
};

struct Trash {
  std::vector<TrashItem> items;          // sorted by id
  std::vector<std::string> unexplained;  // names that no record explains
};
// A record that cannot be read explains nothing.
[[nodiscard]] Result<Trash> list_trash(const Store& store);

// Moves `path` (a directory on any file system) into the trash; gives the top directory its write bit first (moving a
// 0555 directory needs it). Errc::cross_device where the trash is on another file system. Returns where it went.
[[nodiscard]] Result<std::string> move_to_trash(const Fs& fs, const Store& store, const std::string& path,
                                                const std::string& why);

// Unpublishes an install and moves it to the trash. The caller holds its lease exclusively and has judged it. Where it
// stops half-way, `settle_pending` puts it back. Returns the item's id.
[[nodiscard]] Result<std::string> retire_install(const Fs& fs, const Store& store, const InstallName& name,
                                                 const std::string& why);

enum class TakenBack { no, yes };
// Brings a reclaimed install back, if the trash has it whole. The caller holds its build lock, and nothing that is
// sealed has the name.
[[nodiscard]] Result<TakenBack> take_back(const Fs& fs, const Store& store, const InstallName& name);

// Finishes or undoes what an interrupted retire or take-back left: republishes the seal where the install stands in its
// place unsealed, else drops the leftover. The caller holds the install's lease exclusively and its build lock.
[[nodiscard]] Status settle_pending(const Fs& fs, const Store& store, const TrashItem& item);

// The first step of deleting it: from now on nobody takes it back. Returns the directory's name within the trash;
// Errc::not_found where somebody took it back.
[[nodiscard]] Result<std::string> doom(const Fs& fs, const Store& store, const TrashItem& item);
// The last: what is left of a deleted item.
[[nodiscard]] Status forget(const Fs& fs, const Store& store, const TrashItem& item);

}  // namespace pfnm
