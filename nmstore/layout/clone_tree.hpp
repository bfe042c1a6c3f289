// The fallback of a hook that cannot link: the main checkout's node_modules, cloned block for block (SPEC 5.2). Reflinks
// only; a byte copy is the stall this program exists to remove.
#pragma once

#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/store/record.hpp"

namespace pfnm {

struct CloneRequest {
  std::string from;                     // the main checkout's project
  std::string project;                  // where node_modules is absent
  std::vector<std::string> containers;  // "node_modules" first, then the workspaces' that `from` has
  Record record;                        // written as that of a private copy
};

// Errc::unsupported (nothing changed) where the file system cannot share blocks between the two.
[[nodiscard]] Status clone_modules(const Fs& fs, const CloneRequest& request);

}  // namespace pfnm
