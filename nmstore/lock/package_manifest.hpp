// package.json, as far as an install depends on it (npm.md 1.8).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/lock/npm_lock.hpp"

namespace pfnm {

struct PackageManifest {
  std::string name, version;
  DependencyMap scripts, dependencies, dev_dependencies, optional_dependencies, peer_dependencies;
  DependencyMap bin;                     // name -> path, normalised as npm-normalize-package-bin does
  std::vector<std::string> workspaces;   // globs, of either form
  std::string allow_scripts, overrides;  // canonical JSON (sorted keys, no spaces); "" if absent or empty
  bool has_bundle_dependencies = false;
};

// A byte order mark is tolerated; of equal keys the last counts, as in JSON.parse; fields of a wrong type count as
// absent. Errors (Errc::bad_input): not JSON, conflict markers, not an object.
[[nodiscard]] Result<PackageManifest> parse_package_manifest(std::string_view bytes, std::string_view shown_path);

// The manifest without the scripts that `npm ci` would run for a root or a workspace; everything else is kept, key
// order too, a byte order mark is not (SPEC 2.3). Errors as above.
[[nodiscard]] Result<std::string> without_lifecycle_scripts(std::string_view bytes, std::string_view shown_path);

// Name and text of those present, in the order `npm ci` runs them for the root: predependencies, dependencies and
// postdependencies, then preinstall install postinstall prepublish preprepare prepare postprepare (npm.md 1.3).
[[nodiscard]] std::vector<std::pair<std::string, std::string>> lifecycle_scripts(const PackageManifest& manifest);

// The arguments, unquoted, of the first patch-package call in a lifecycle script or in a script that one runs by
// `npm run` (npm, yarn, pnpm and bun spellings); also through npx, `npm exec`, cross-env, a path into node_modules,
// after assignments and in a chain. Nothing when there is none: "postinstall-postinstall" or an argument of that name
// is not it.
[[nodiscard]] std::optional<std::vector<std::string>> find_patch_package_call(const PackageManifest& manifest);

}  // namespace pfnm
