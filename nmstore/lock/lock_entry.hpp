// One entry of `packages`. Internal to nmstore/lock.
#pragma once

#include <string_view>

#include "nmstore/base/result.hpp"
#include "nmstore/lock/npm_lock.hpp"

namespace simdjson::dom {
class element;
class object;
}  // namespace simdjson::dom

namespace pfnm::lock_detail {

[[nodiscard]] Error bad_lock(std::string_view shown_path, std::string_view reason, std::string_view hint = {});
[[nodiscard]] Error bad_entry(std::string_view shown_path, std::string_view key, std::string_view reason,
                              std::string_view hint = {});

// Checks the key and reads the fields; whether a link's target exists is not known yet.
[[nodiscard]] Result<LockEntry> read_entry(std::string_view key, const simdjson::dom::element& value,
                                           std::string_view shown_path);

// Checks the nested `dependencies` of a version 1 lock (names, objects, duplicate keys, file: addresses) and counts.
[[nodiscard]] Result<std::size_t> check_ancient_tree(const simdjson::dom::element& dependencies,
                                                     std::string_view shown_path);

}  // namespace pfnm::lock_detail
