// The nightly window (SPEC 6.6). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pfnm {

// Minutes since midnight UTC, [from, to); may wrap midnight. from == to: never.
struct NightWindow {
  int from = 8 * 60;
  int to = 11 * 60;

  // "HH:MM-HH:MM"; nothing where it is not that.
  [[nodiscard]] static std::optional<NightWindow> parse(std::string_view text);
  [[nodiscard]] bool contains(std::int64_t now) const;
  // The next moment from `now` on at which it is open; nothing where it never is.
  [[nodiscard]] std::optional<std::int64_t> next_opening(std::int64_t now) const;
};

}  // namespace pfnm
