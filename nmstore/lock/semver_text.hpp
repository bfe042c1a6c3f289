// The text passes of node-semver that come before its grammar. Internal to nmstore/lock.
#pragma once

#include <string>
#include <string_view>

namespace pfnm::semver_text {

[[nodiscard]] bool is_digit(char c);
[[nodiscard]] bool is_identifier(char c);  // of a prerelease or of build metadata
[[nodiscard]] std::string_view trimmed(std::string_view text);

// Trimmed, with one space for each run of white space.
[[nodiscard]] std::string collapse_spaces(std::string_view text);
[[nodiscard]] std::string strip_build_metadata(std::string_view text);
// "> 1.2.3" is ">1.2.3". What follows the operator as "v" or "=" keeps its spaces: "> = 1" is no range.
[[nodiscard]] std::string close_up_comparisons(std::string_view text);
// "~ 1", "~> 1" and "^ 1" are "~1" and "^1". Expects collapsed spaces.
[[nodiscard]] std::string close_up_prefixes(std::string_view text);

}  // namespace pfnm::semver_text
