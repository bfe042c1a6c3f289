// Reading fields out of parsed JSON the way npm does (JSON.parse: of two equal keys the last one counts), plus the
// errors that package-lock.json and package.json share. Internal to nmstore/lock: the JSON library is only named here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nmstore/base/error.hpp"

namespace simdjson::dom {
class element;
class object;
}  // namespace simdjson::dom

namespace pfnm::json {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// "" when the value is not a string.
[[nodiscard]] std::string text(const simdjson::dom::element& value);
// Members whose value is a string, in file order; empty when the value is not an object.
[[nodiscard]] Pairs text_members(const simdjson::dom::element& value);
// A string is a list of one, as in npm-install-checks.
[[nodiscard]] std::vector<std::string> text_list(const simdjson::dom::element& value);
// Globs: an array, or the Yarn form {"packages": [...]}.
[[nodiscard]] std::vector<std::string> workspace_globs(const simdjson::dom::element& value);
// npm-normalize-package-bin: name -> path below the package, both unable to leave their directory.
[[nodiscard]] Pairs bins(const simdjson::dom::element& value, std::string_view package_name);
// Sorted keys, no spaces; of equal keys the last.
[[nodiscard]] std::string canonical(const simdjson::dom::element& value);
[[nodiscard]] std::optional<std::string> duplicate_key(const simdjson::dom::object& object);
// What JSON.parse makes of a scalar, as text; nothing when it is not JSON.
[[nodiscard]] std::optional<std::string> parse_scalar(std::string_view json);

// Sets a key, keeping the place of an equal one.
void put(Pairs& pairs, std::string_view key, std::string_view value);

[[nodiscard]] std::string_view without_bom(std::string_view bytes);
// Errc::bad_input for a file that is not JSON: empty, with git conflict markers (and their line), or otherwise.
[[nodiscard]] Error not_json(std::string_view operation, std::string_view shown_path, std::string_view bytes,
                             std::string_view detail);

}  // namespace pfnm::json
