// Times as people and programs read them.
#pragma once

#include <cstdint>
#include <string>

namespace pfnm {

// RFC 3339, UTC: "2026-11-30T08:00:00Z"
[[nodiscard]] std::string rfc3339(std::int64_t seconds);
// Seconds since the epoch, from the system's clock.
[[nodiscard]] std::int64_t seconds_now();

}  // namespace pfnm
