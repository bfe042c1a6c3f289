// The store: one directory, ours alone, mode 0700 (SPEC 2.1).
#pragma once

#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/store/names.hpp"

namespace pfnm {

struct Store {
  StorePaths paths;
};

// A store that exists and can be used. Errc::not_found where it was never made; Errc::refused where it is another
// user's, or is a directory that is not a store (a home directory given by mistake).
[[nodiscard]] Result<Store> open_store(const std::string& root);

// As open_store, and makes what is missing. Changes nothing in a directory that it refuses.
[[nodiscard]] Result<Store> create_store(const Fs& fs, const std::string& root);

// Top-level names of the store that pfnm did not make: no install of ours (sealed, or holding our build intent).
// Reported, never touched.
[[nodiscard]] Result<std::vector<std::string>> foreign_entries(const Store& store);

// Names of installs that have a seal, sorted.
[[nodiscard]] Result<std::vector<InstallName>> sealed_installs(const Store& store);

}  // namespace pfnm
