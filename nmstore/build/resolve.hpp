// From a worktree to the install it needs: reads the lock, the manifests and the npm configuration, and computes the
// key (SPEC 2.2). What it learned is left in the store as memos, so that the front finds the same answer without
// reading any JSON.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/build/toolchain.hpp"
#include "nmstore/git/project.hpp"
#include "nmstore/lock/lock_key.hpp"
#include "nmstore/store/record.hpp"

namespace pfnm {

// What configuration contributes, resolved by the caller (git configuration is not read here).
struct ResolvedSettings {
  LayoutSettings layout;
  std::string default_layout;
  std::vector<std::string> config_files;  // every file that was or would be read
  enum class Cacheable { no, yes } cacheable = Cacheable::yes;
};

// One file of the manifest set, as it goes into the build directory.
struct StagedFile {
  std::string path;     // relative to the project, and to the install
  std::string content;
};

struct Resolution {
  Project project;
  InstallName install;
  KeyReport report;
  Record record;                       // answer, toolchain, inputs, configs, settings; layout parts empty
  NpmLock lock;
  PackageManifest root;
  std::vector<StagedFile> files;       // manifests without lifecycle scripts, the lock, .npmrc
  std::vector<std::string> file_trees; // file: tarballs and directories, patches: copied from the project as they are
  std::optional<std::vector<std::string>> patch_package;  // its arguments, if the root's scripts call it
  std::vector<std::pair<std::string, std::string>> not_run;  // "." or workspace -> names of its lifecycle scripts
  TreeConfig config;                                      // npm's configuration, as far as it changes the tree
  std::optional<Digest> npmrc;                            // of the project's own .npmrc
  std::optional<Digest> patches;                          // of the patch directory, where patch-package is called
  std::vector<std::pair<std::string, Digest>> file_sources;
  std::vector<std::string> npmrc_variables;               // environment variables that .npmrc files name
  ToolchainFacts toolchain;
};

// Everything outside the project and the store that the answer depends on.
struct ResolveContext {
  const Fs& fs;
  const Store& store;
  const Programs& programs;
  const std::vector<std::string>& environment;
};

// Errc::bad_input, naming file and entry, for anything that cannot be used; nothing is changed then.
[[nodiscard]] Result<Resolution> resolve_install(const ResolveContext& context, const Project& project,
                                                 const ResolvedSettings& settings);

}  // namespace pfnm
