// A checkout must not become code execution (SPEC 5.5, docs/trust.md). What an install may run is approved by an explicit
// `pfnm link` or `pfnm install build`, and remembered in the store by content: every package of what was built by name,
// version and integrity; the project's npm configuration, patches and script policy by their digest. A hook builds only
// if nothing else would get to run.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/build/resolve.hpp"
#include "nmstore/store/store.hpp"

namespace pfnm {

// One thing to approve, as a text that says all of it: "package esbuild 0.25.1 sha512-...".
struct TrustItem {
  std::string text;
  std::string shown;  // for people: "esbuild@0.25.1"
};

// What must have been approved before a hook may build this. Where anything runs at all (an install script,
// patch-package), that is the packages that run, all they declare to load, and every package that brings a command,
// since scripts find commands by name. Pure.
[[nodiscard]] std::vector<TrustItem> required_items(const Resolution& resolution);
// What an explicit build approves: the same project items, and every package of the lock. Pure.
[[nodiscard]] std::vector<TrustItem> approvable_items(const Resolution& resolution);

// The first that was never approved; nothing where all were.
[[nodiscard]] Result<std::optional<TrustItem>> find_unapproved(const Store& store, const std::vector<TrustItem>& items);
[[nodiscard]] Status approve(const Fs& fs, const Store& store, const std::vector<TrustItem>& items);

// After `npm ci --ignore-scripts`: what required_items should have said, from what is on disk, whatever the lock says of
// it (a lock that lies about hasInstallScript or bin, a binding.gyp, a node_modules that no lock lists). `runs` is
// whether npm rebuild would run anything.
struct DiskTrust {
  std::vector<TrustItem> items;
  enum class Runs { nothing, scripts } runs = Runs::nothing;
};
[[nodiscard]] Result<DiskTrust> survey_disk_trust(const Resolution& resolution, const std::string& install);

}  // namespace pfnm
