// The key of an install: everything the tree depends on, as a directory name and as a fingerprint (SPEC 2.2).
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nmstore/base/digest.hpp"
#include "nmstore/lock/npm_lock.hpp"
#include "nmstore/lock/npmrc.hpp"
#include "nmstore/lock/package_manifest.hpp"

namespace pfnm {

struct Toolchain {
  std::string node_version;  // "20.20.2"
  std::string modules_abi;   // "115"
  std::string platform;      // "linux"
  std::string arch;          // "x64"
  std::string libc;          // "glibc", "musl" or ""
  std::string npm_version;
};

// npm 10 keeps optional peers that 11 prunes; npm 12 blocks install scripts (npm.md 0.1).
enum class NpmClass { npm10, npm11, npm12 };
// By major: up to 10, 11, from 12 on. A version that is no number counts as npm 11.
[[nodiscard]] NpmClass npm_class(std::string_view npm_version);

struct KeyInputs {
  const NpmLock& lock;
  Digest lock_digest;  // sha256_text of the lock's bytes
  Toolchain toolchain;
  TreeConfig config;
  PackageManifest root;
  std::vector<std::pair<std::string, PackageManifest>> workspaces;  // directory -> manifest, see workspace_directories
  std::optional<Digest> patches;  // over patches/, when the root's scripts call patch-package
  std::vector<std::pair<std::string, Digest>> file_sources;  // see local_tarballs and install_links_directories
};

// The name of an install's directory: <64 hex>[-<platform>-<arch>[-<libc>]-abi<N>][-x<8 hex>].
struct LockKey {
  std::string text;

  auto operator<=>(const LockKey&) const = default;
};

struct KeyReport {
  LockKey key;
  Digest fingerprint;                                      // over all items; this decides, the name is for people
  std::vector<std::pair<std::string, std::string>> items;  // what went in, in the order it was hashed
};

// Total and deterministic; the order of workspaces, file sources and settings does not matter.
[[nodiscard]] KeyReport compute_key(const KeyInputs& inputs);

// Exactly the grammar above: tells our names in the store from foreign ones.
[[nodiscard]] bool is_lock_key(std::string_view text);

// Tarballs of the project that the lock installs ("file:x.tgz"), relative to it; sorted, each once.
[[nodiscard]] std::vector<std::string> local_tarballs(const NpmLock& lock);
// Directories that are copied, not linked ("file:" of a directory in a package entry: install-links); sorted.
[[nodiscard]] std::vector<std::string> install_links_directories(const NpmLock& lock);
// Paths of kind workspace, in file order.
[[nodiscard]] std::vector<std::string> workspace_directories(const NpmLock& lock);
// A rough size on disk, for the free-space check before a build.
[[nodiscard]] std::size_t estimated_bytes(const NpmLock& lock);

}  // namespace pfnm
