// .npmrc files: what they say, what of it changes the tree, what of it would run programs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pfnm {

struct NpmrcEntry {
  std::string key;  // array keys keep their "[]"
  std::string value;
  int line = 0;

  bool operator==(const NpmrcEntry&) const = default;
};

using VariableLookup = std::function<std::optional<std::string>(std::string_view)>;

// Reads as npm's `ini` does: comments ; and #, quotes (JSON inside), a key alone means "true", spaces around "=", CR LF
// and a byte order mark are tolerated, sections are skipped (npm reads no setting out of one). ${VAR} and ${VAR?} are
// replaced through `lookup` in keys and values, by npm's rules: an unknown ${VAR} stays, an unknown ${VAR?} is empty,
// an odd number of backslashes in front escapes. (npm 11 has no ${VAR:-x}: it stays as written unless a variable has
// that very name.) Never fails: npm skips lines it cannot read.
[[nodiscard]] std::vector<NpmrcEntry> parse_npmrc(std::string_view bytes, const VariableLookup& lookup);

struct TreeConfig {
  std::vector<std::pair<std::string, std::string>> differing;  // key -> normalised value, sorted by key

  bool operator==(const TreeConfig&) const = default;
};

// The settings that change what `npm ci` installs (npm.md 1.7, SPEC 2.2) and differ from npm's default; layers in
// rising precedence (global, user, project). Aliases and older spellings are folded: global-style and legacy-bundling
// into install-strategy; omit, include, only, also, production, dev and optional into one "omit" list; shrinkwrap into
// package-lock. Registries, credentials, proxies, caches and output settings do not change the tree and are not listed:
// integrity decides there. `package-lock=false` is listed, since npm ci refuses it.
[[nodiscard]] TreeConfig tree_changing_config(const std::vector<std::vector<NpmrcEntry>>& layers);

// Keys of TreeConfig that matter only where some package has an install script: without one they leave the key alone.
[[nodiscard]] bool only_reaches_scripts(std::string_view key);

// Entries of a project's .npmrc that name a program, a shell, node options or a configuration file (SPEC 5.5). They are
// refused in every build: a checkout must not become code execution. The user's own files may set them.
[[nodiscard]] std::vector<NpmrcEntry> program_keys(const std::vector<NpmrcEntry>& project);

}  // namespace pfnm
