// Writable copies out of a sealed install, with the modes npm gave (from the manifest).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/store/manifest.hpp"

namespace pfnm {

struct CopyReport {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reflinked_bytes = 0;  // of `bytes`: share their blocks with the install
};

// What a directory of the install becomes is decided per entry: copied, or left out (somebody else makes it).
enum class CopyChoice { copy, leave_out };
struct CopyRequest {
  const std::string& install;
  const ManifestView& manifest;
  EntryIndex source = 0;           // a directory, a file or a link
  std::string destination;         // absolute; must not exist, its parent must
  std::function<CopyChoice(const ManifestView::Entry&, const std::string& path)> choose;  // path inside the install
  std::function<void(const CopyReport&)> progress;
};
// Two threads copy files; directories and links are made first.
[[nodiscard]] Result<CopyReport> copy_subtree(const Fs& fs, const CopyRequest& request);

}  // namespace pfnm
