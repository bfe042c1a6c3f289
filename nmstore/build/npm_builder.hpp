// Filling a build directory with `npm ci` (SPEC 2.3), and patch-package where the project's scripts call it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/build/resolve.hpp"
#include "nmstore/platform/fs.hpp"

namespace pfnm {

// Whose install scripts may run.
enum class ScriptTrust {
  all,            // an explicit build: the user asked for it
  approved_only,  // a hook's: nothing runs before what is on disk has been compared with what was approved
};

struct NpmRun {
  const Fs& fs;
  const Store& store;
  const Resolution& resolution;
  ScriptTrust trust = ScriptTrust::all;
  std::string install;                          // the directory, already staged
  std::string log;                              // npm's own output goes here
  const std::vector<std::string>& environment;  // this process's
  int build_lock = -1;                          // npm holds it too: it must not outlive a builder that was killed unseen
  std::function<void()> on_tick;
};

// Writes the manifest set into `directory`: manifests without lifecycle scripts, lock, .npmrc, patches, file: sources.
[[nodiscard]] Status stage_manifest_set(const Fs& fs, const Resolution& resolution, const std::string& directory);

// Errc::failed_child with npm's own code (EUSAGE, ERESOLVE, ...) and the log's path; Errc::refused where a package that
// was not approved would run something.
[[nodiscard]] Status run_npm_ci(const NpmRun& run);

// Removes what only the build needed and what may hold secrets (.npmrc, patches).
[[nodiscard]] Status drop_build_files(const Fs& fs, const Resolution& resolution, const std::string& directory);

}  // namespace pfnm
