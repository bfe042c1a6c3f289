// node-semver's ranges, strict mode with includePrerelease: what npm asks of `engines` (npm.md 1.1). Follows
// node-semver's rewriting rules one by one, its oddities included ("= 1.x" is a range, "== 1.2.3" is not).
#pragma once

#include <string_view>

namespace pfnm {

// False when the version or the range cannot be parsed, as semver.satisfies does.
[[nodiscard]] bool satisfies(std::string_view version, std::string_view range);
[[nodiscard]] bool is_valid_range(std::string_view range);

}  // namespace pfnm
