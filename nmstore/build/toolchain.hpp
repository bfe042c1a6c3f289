// Which node and npm an install is built by, and the facts of them that the tree depends on (SPEC 2.2). Asking node and
// npm costs a third of a second, so the answer is kept in the store by their path, device, inode and mtime.
#pragma once

#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/lock/lock_key.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/store/inputs.hpp"
#include "nmstore/store/store.hpp"

namespace pfnm {

struct Programs {
  ProgramIdentity node;
  ProgramIdentity npm;
};
// From PATH. Errc::bad_input naming the one that is not there.
[[nodiscard]] Result<Programs> find_toolchain(const std::string& path_variable);

// A shim (a version manager's) chooses by the directory it runs in: its own identity says nothing of the node behind it.
enum class Shim { no, yes };

struct ToolchainFacts {
  Toolchain toolchain;
  Shim shim = Shim::no;
  std::string user_npmrc;     // files npm reads besides the project's
  std::string global_npmrc;
  std::string builtin_npmrc;
};

// Asks node and npm (in `directory`), or the store's memo. `environment` is npm's (npm_environment).
[[nodiscard]] Result<ToolchainFacts> survey_toolchain(const Fs& fs, const Store& store, const Programs& programs,
                                                      const std::string& directory,
                                                      const std::vector<std::string>& environment);

// The environment npm and the install scripts get: what finds programs, the network and the user's own npm
// configuration, and nothing that changes the tree (SPEC 2.3). `referenced` are variables that .npmrc files name.
[[nodiscard]] std::vector<std::string> npm_environment(const std::vector<std::string>& environment,
                                                       const ProgramIdentity& node,
                                                       const std::vector<std::string>& referenced);

[[nodiscard]] std::string find_variable(const std::vector<std::string>& environment, std::string_view name);

}  // namespace pfnm
