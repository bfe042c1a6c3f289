#include "nmstore/reclaim/night_window.hpp"

namespace pfnm {
namespace {

constexpr std::int64_t k_day = 24 * 3600;
constexpr int k_day_minutes = 24 * 60;

std::int64_t midnight_before(std::int64_t now) { return now - ((now % k_day) + k_day) % k_day; }

std::optional<int> parse_clock(std::string_view text) {
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  if (text.size() != 5 || text[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4)) return std::nullopt;
  const int hours = (text[0] - '0') * 10 + (text[1] - '0');
  const int minutes = (text[3] - '0') * 10 + (text[4] - '0');
  if (minutes > 59 || hours > 24 || (hours == 24 && minutes != 0)) return std::nullopt;
  return hours * 60 + minutes;
}

}  // namespace

std::optional<NightWindow> NightWindow::parse(std::string_view text) {
  if (text.size() != 11 || text[5] != '-') return std::nullopt;
  const auto from = parse_clock(text.substr(0, 5));
  const auto to = parse_clock(text.substr(6));
  if (!from || !to || *from == k_day_minutes) return std::nullopt;
  return NightWindow{*from, *to};
}

bool NightWindow::contains(std::int64_t now) const {
  const auto second = now - midnight_before(now);
  const std::int64_t start = from * 60;
  const std::int64_t end = to * 60;
  if (start <= end) return second >= start && second < end;
  return second >= start || second < end;
}

std::optional<std::int64_t> NightWindow::next_opening(std::int64_t now) const {
  if (from == to) return std::nullopt;
  if (contains(now)) return now;
  const std::int64_t today = midnight_before(now) + from * 60;
  return today > now ? today : today + k_day;
}

}  // namespace pfnm
