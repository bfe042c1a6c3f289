#include "cli/time_text.hpp"

#include <time.h>

#include <array>
#include <tuple>

namespace pfnm {

std::string rfc3339(std::int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::ignore = ::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::int64_t seconds_now() { return ::time(nullptr); }

}  // namespace pfnm
