// The seal of an install: published last, it is what makes an install exist (SPEC 2.4). It holds the full fingerprint,
// so that it, and not the directory's name, decides whether an install is the one asked for.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nmstore/base/digest.hpp"
#include "nmstore/base/result.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/store/names.hpp"

namespace pfnm {

enum class Synced { no, yes };

struct Seal {
  InstallName install;
  Digest fingerprint{};
  std::uint64_t manifest_checksum = 0;  // XXH3 of our own files: accident, not attack
  std::uint64_t plan_checksum = 0;
  std::string boot;       // the boot it was sealed in
  Synced synced = Synced::no;
  std::int64_t sealed_at = 0;  // seconds since the epoch
  std::uint64_t bytes = 0;     // of all regular files
  std::uint64_t entries = 0;
  std::string builder;         // "npm 11.19.1, node 20.20.2"
  std::vector<std::pair<std::string, std::string>> items;    // what went into the key
  std::vector<std::pair<std::string, std::string>> not_run;  // directory ("." = root) -> lifecycle scripts, in order
};

[[nodiscard]] std::string render_seal(const Seal& seal);
[[nodiscard]] Result<Seal> parse_seal(std::string_view text, std::string_view shown_path);

// Nothing where the install is not sealed.
[[nodiscard]] Result<std::optional<Seal>> find_seal(const StorePaths& paths, const InstallName& name);
// Publishes: written whole under another name, renamed into place.
[[nodiscard]] Status publish_seal(const Fs& fs, const StorePaths& paths, const Seal& seal);

// A seal that a crash of the machine may have outlived the data of: the install must be verified in full before use.
[[nodiscard]] bool needs_verification(const Seal& seal, std::string_view current_boot);

[[nodiscard]] std::uint64_t checksum(std::string_view bytes);

}  // namespace pfnm
