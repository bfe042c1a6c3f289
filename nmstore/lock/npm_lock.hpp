// package-lock.json (or npm-shrinkwrap.json) as npm 7 and later read it: a flat list of entries by path.
// Rules: reference npm.md 1.1 and 5.2, SPEC 2.8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nmstore/base/result.hpp"

namespace pfnm {

using DependencyMap = std::vector<std::pair<std::string, std::string>>;  // in file order

enum class EntryKind {
  root,
  workspace,  // a real directory outside node_modules: a workspace, or the target of a file: dependency
  package,    // anything else below a node_modules
  link,
};

struct LockEntry {
  std::string path;  // the key: "", "packages/a", "node_modules/x", "packages/a/node_modules/y"
  EntryKind kind = EntryKind::package;
  std::string name;      // the declared name, else derived from the path (scope included); "" for a nameless root
  std::string version;   // "" if the lock has none
  std::string resolved;  // of a link: the path of its target, normalised ("" = the project itself)
  std::string integrity;
  bool in_bundle = false;
  bool optional = false;  // this and the next three are npm's hints, it computes them anew (npm.md 1.1)
  bool dev = false;
  bool dev_optional = false;
  bool peer = false;
  bool has_install_script = false;
  bool has_shrinkwrap = false;
  std::vector<std::string> os, cpu, libc;
  std::string engines_node;  // "" = none
  DependencyMap dependencies, dev_dependencies, optional_dependencies, peer_dependencies;
  std::vector<std::string> optional_peers;  // names whose peerDependenciesMeta says optional
  DependencyMap bin;                        // name -> relative path, normalised as npm does
  std::vector<std::string> bundle_dependencies;
  std::vector<std::string> workspaces;  // the root's globs
};

class NpmLock {
 public:
  int lockfile_version = 0;
  std::vector<LockEntry> entries;         // in file order; empty for v1
  std::size_t ancient_package_count = 0;  // v1 only: packages in the nested tree

  // nullptr when there is no such entry. O(log n); the pointer lives as long as `entries` is unchanged.
  [[nodiscard]] const LockEntry* find(std::string_view path) const;
  [[nodiscard]] const LockEntry* root() const { return find(""); }

  // To be called after `entries` was filled by hand; parse_npm_lock has done it. Of equal paths the first is found.
  void index_entries();

 private:
  std::vector<std::uint32_t> by_path_;
};

// Accepts lockfileVersion 1 (entries stay empty, but the nested tree is checked), 2 and 3; a byte order mark and CR LF
// are tolerated. Unknown fields are ignored. Errors are Errc::bad_input with the entry named in `reason`: not JSON,
// conflict markers (with the line), not an object, lockfileVersion missing or unsupported, duplicate keys (top level,
// `packages`, inside an entry), a key that lock_paths.hpp refuses, a link or file: address that leaves the project,
// a link without a target or outside node_modules, an entry that is not an object, a known field of a wrong type.
[[nodiscard]] Result<NpmLock> parse_npm_lock(std::string_view bytes, std::string_view shown_path);

// The entry that `require(name)` reaches from `from_path`: the first of <dir>/node_modules/<name> for the directory
// and its ancestors (npm.md 5.2 rule 2). From a link the walk starts at its target. May be a link; nullptr if none.
[[nodiscard]] const LockEntry* resolve_dependency(const NpmLock& lock, std::string_view from_path,
                                                  std::string_view name);

// Follows a link to its target; any other entry is its own.
[[nodiscard]] const LockEntry* link_target(const NpmLock& lock, const LockEntry& entry);

}  // namespace pfnm
