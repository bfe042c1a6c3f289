// A checkout must not become code execution (SPEC 5.5, docs/trust.md). What an install may run is approved once, by an
// explicit `pfnm link` or `pfnm install build`, and remembered in the store by content: packages that run something by
// name, version and integrity; the project's npm configuration, patches and script policy by their digest. A hook builds
// only what is approved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/build/resolve.hpp"
#include "nmstore/store/store.hpp"

namespace pfnm {

// One thing to approve, as a text that says all of it: "package esbuild 0.25.1 sha512-...".
struct TrustItem {
  std::string text;
  std::string shown;  // for people: "esbuild@0.25.1 (install script)"
};

// What a build of this resolution would run or obey. Pure.
[[nodiscard]] std::vector<TrustItem> trust_items(const Resolution& resolution);
// The item of one lock entry that runs something when it is installed.
[[nodiscard]] TrustItem package_item(const NpmLock& lock, const LockEntry& entry);

// The first that was never approved; nothing where all were.
[[nodiscard]] Result<std::optional<TrustItem>> find_unapproved(const Store& store, const std::vector<TrustItem>& items);
[[nodiscard]] Status approve(const Fs& fs, const Store& store, const std::vector<TrustItem>& items);

// After `npm ci --ignore-scripts`: every package on disk that would run something now, whatever the lock says of it (a
// lock that lies about hasInstallScript, a binding.gyp). Items without an entry in the lock are never approved.
[[nodiscard]] Result<std::vector<TrustItem>> survey_scripts(const Resolution& resolution, const std::string& install);

}  // namespace pfnm
