// The script for bench_replay: what a layout that stands consists of, as the fewest system calls that make it again.
#pragma once

#include <string>

#include "nmstore/base/result.hpp"

namespace pfnm::bench {

struct ReplayScript {
  std::string text;  // see replay.cpp
  std::size_t directories = 0;
  std::size_t links = 0;
  std::size_t copies = 0;  // files or trees; the hidden lock is one
};

// From the plan of the install that `project` is linked to, and from what stands in it.
[[nodiscard]] Result<ReplayScript> script_for(const std::string& project);

// The directory of that install.
[[nodiscard]] Result<std::string> install_of(const std::string& project);

// Every directory and link of the script stands in `project`, the links with the same text.
[[nodiscard]] Status check_replayed(const ReplayScript& script, const std::string& project);

}  // namespace pfnm::bench
