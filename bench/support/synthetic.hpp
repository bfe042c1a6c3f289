// Made-up projects that are the same on every machine: a lock with a fixed seed, and the tree `npm ci` would make of
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pfnm::bench {

struct SyntheticPackage {
  std::string path;  // "node_modules/@scope2/p0017", "node_modules/p0003/node_modules/p0001"
  std::string name;
  std::string version;
  bool has_bin = false;
  std::vector<std::string> dependencies;  // names
};

struct SyntheticOptions {
  std::size_t packages = 1000;
  std::size_t workspaces = 0;  // w0, w1, ...; the last packages of the lock depend on the first of them
  std::size_t changed = 0;     // how many packages differ from the lock with changed = 0: half by name, half by version
  std::uint64_t seed = 20240229;
};

struct SyntheticProject {
  SyntheticOptions options;
  std::vector<SyntheticPackage> packages;  // in the order of the lock
  std::vector<std::string> direct;         // what the root depends on
};

[[nodiscard]] SyntheticProject make_synthetic(const SyntheticOptions& options);

[[nodiscard]] std::string render_lock(const SyntheticProject& project);
[[nodiscard]] std::string render_manifest_json(const SyntheticProject& project);  // the root's package.json
[[nodiscard]] std::string render_workspace_json(std::size_t number);

// What a stand-in for `npm ci` needs of a lock of render_lock's making; reads that very form, line by line.
struct LockLine {
  std::string path;
  std::string version;
  bool has_bin = false;
};
[[nodiscard]] std::vector<LockLine> scan_lock(std::string_view lock);
// npm's node_modules/.package-lock.json for such a lock.
[[nodiscard]] std::string hidden_lock(std::string_view lock);

}  // namespace pfnm::bench
