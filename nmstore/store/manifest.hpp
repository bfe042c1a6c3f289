// The manifest of an install: every entry with path, type, mode, size, digest and link text, and what lstat said of it
// when it was sealed (SPEC 2.4). Binary, mapped, searched without parsing; docs/store-format.md has the layout.
//
// `mode` is the mode npm gave the entry, before sealing took the write bits away: it is what a private copy gets back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nmstore/base/digest.hpp"
#include "nmstore/base/result.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {

using EntryIndex = std::uint32_t;
inline constexpr EntryIndex k_manifest_root = 0;

// In memory, while an install is sealed. Entry 0 is the install's own directory; the children of a directory are
// contiguous and sorted by name (byte order), and every parent comes before its children.
struct ManifestEntry {
  std::string name;
  std::string link;
  EntryIndex parent = 0;
  EntryIndex first_child = 0;
  std::uint32_t child_count = 0;
  FileType type = FileType::regular;
  std::uint32_t mode = 0;  // permission bits
  std::uint64_t size = 0;
  std::uint64_t ino = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  Digest digest{};
};

[[nodiscard]] std::string render_manifest(const std::vector<ManifestEntry>& entries);

class ManifestView {
 public:
  // Checks the frame (magic, version, sizes); every access checks its own bounds, so a damaged file cannot lead out.
  [[nodiscard]] static Result<ManifestView> open(const std::string& path);

  struct Entry {
    std::string_view name;
    std::string_view link;
    EntryIndex index = 0;
    EntryIndex parent = 0;
    EntryIndex first_child = 0;
    std::uint32_t child_count = 0;
    FileType type = FileType::other;
    std::uint32_t mode = 0;
    std::uint64_t size = 0;
    std::uint64_t ino = 0;
    std::int64_t mtime_ns = 0;
    std::int64_t ctime_ns = 0;
    Digest digest{};
  };

  [[nodiscard]] EntryIndex size() const { return count_; }
  [[nodiscard]] Entry at(EntryIndex index) const;  // an empty entry of type other when out of range
  // "a/b/c" from the root; "" is the root.
  [[nodiscard]] std::optional<Entry> find(std::string_view path) const;
  [[nodiscard]] std::optional<Entry> find_child(EntryIndex directory, std::string_view name) const;
  [[nodiscard]] std::string path_of(EntryIndex index) const;
  [[nodiscard]] std::string_view bytes() const { return file_.bytes(); }

 private:
  [[nodiscard]] std::string_view text(std::uint32_t offset, std::uint32_t length) const;
  MappedFile file_;
  EntryIndex count_ = 0;
  std::string_view records_;
  std::string_view strings_;
};

// Digest over a subtree: names, types, execute bits, link texts and contents. Two subtrees with the same one are the
// same for every reader; write bits do not count, so that a writable copy equals what it was made from.
[[nodiscard]] Digest subtree_digest(const ManifestView& manifest, EntryIndex directory);
[[nodiscard]] Result<Digest> subtree_digest_on_disk(int dir, const std::string& path);

}  // namespace pfnm
