// What names an install: the marker of a links layout, and that of an older helper (SPEC 2.1, 6.1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nmstore/store/names.hpp"

namespace pfnm {

struct Marker {
  enum class State {
    none,        // readable, and nothing there names an install
    names,       // `keys`
    unreadable,  // `why`
  } state = State::none;
  enum class Match {
    exact,      // a key as a whole: our own marker
    same_lock,  // something else that holds a lock's digest: every install of that lock counts
  } match = Match::exact;
  std::vector<std::string> keys;
  std::string why;
  std::int64_t changed_at = 0;  // none: when the directory was last changed (seconds), 0 where there is none

  [[nodiscard]] bool matches(const InstallName& name) const;
};

// The marker in a directory that may be a node_modules.
[[nodiscard]] Marker read_marker(const std::string& directory);

// Every run of 64 hexadecimal digits in a text, with the suffix of a key that follows it.
[[nodiscard]] std::vector<std::string> keys_in(std::string_view text);

// The key of the install that a path leads to or into; empty where it is none. What the store keeps under a key's name
// in .pf (locks, leases, seals) is no part of the install.
[[nodiscard]] std::string_view key_in_path(std::string_view path);

}  // namespace pfnm
