// Is an install still what was sealed? Cheap (every link) and full (verify).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/store/manifest.hpp"

namespace pfnm {

enum class Damage { changed, missing, extra, mode };
struct DamagedPath {
  std::string path;  // relative to the install
  Damage damage = Damage::changed;
};
[[nodiscard]] std::string_view damage_word(Damage damage);

// Every entry of the top level (packages, scopes, what is in them, and the binaries' files) and `k_rotating_entries` others, chosen by
// `rotation`, compared by type, inode, size, mtime and ctime; where these differ, by content (names of a directory,
// digest of a file). Of one tampered entry among n this finds, per link, a share of 256/n (docs/store-format.md);
// `verify` finds it always.
inline constexpr std::uint32_t k_rotating_entries = 256;
[[nodiscard]] Result<std::vector<DamagedPath>> check_install(const std::string& install, const ManifestView& manifest,
                                                             std::uint64_t rotation);

// Puts back the modes of those of which nothing else differs (npm rebuild makes binaries writable through their links),
// and returns the rest.
[[nodiscard]] Result<std::vector<DamagedPath>> restore_modes(const Fs& fs, const std::string& install,
                                                             const ManifestView& manifest,
                                                             const std::vector<DamagedPath>& damaged);

struct VerifyProgress {
  std::uint64_t entries_done = 0;
  std::uint64_t bytes_done = 0;
};
// Reads everything: type, mode (as sealed), content digest, link text, and names that should not be there. Two threads.
// `progress` is called from one of them.
[[nodiscard]] Result<std::vector<DamagedPath>> verify_install(
    const std::string& install, const ManifestView& manifest,
    const std::function<void(const VerifyProgress&)>& progress);

// The mode an entry has in a sealed install, from the mode npm gave it.
[[nodiscard]] std::uint32_t sealed_mode(FileType type, std::uint32_t mode);

}  // namespace pfnm
