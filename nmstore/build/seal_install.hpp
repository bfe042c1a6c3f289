// Sealing: the tree that a builder left becomes an immutable install (SPEC 2.4). Walked, digested and made read-only in
// one pass, the manifest and the link plan written beside it, the seal published last.
#pragma once

#include <functional>
#include <string>

#include "nmstore/base/result.hpp"
#include "nmstore/build/resolve.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/store/seal.hpp"

namespace pfnm {

struct SealProgress {
  std::uint64_t entries_done = 0;
  std::uint64_t entries_total = 0;
};

// The caller holds the key's build lock. Errors leave the directory unsealed.
[[nodiscard]] Result<Seal> seal_install(const Fs& fs, const Store& store, const Resolution& resolution,
                                        const InstallName& name,
                                        const std::function<void(const SealProgress&)>& progress);

// Brings the install's data to the device a little at a time, then says so in the seal. For a background process; takes
// a lease, and does nothing where the seal is gone or another.
[[nodiscard]] Status write_back(const Fs& fs, const Store& store, const InstallName& name);

}  // namespace pfnm
