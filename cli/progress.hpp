// Progress of what may take longer than a second: on a terminal only, on stderr, one line that is rewritten.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "nmstore/build/ensure_install.hpp"

namespace pfnm {

class Progress {
 public:
  explicit Progress(int fd);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void note(const std::string& text);  // a phase; without a terminal nothing is shown
  void tick();
  void count(std::uint64_t done, std::uint64_t total, const char* unit);
  [[nodiscard]] BuildProgress for_build();

 private:
  void show(const std::string& detail);
  void clear();
  int fd_;
  bool terminal_;
  bool shown_ = false;
  std::string phase_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace pfnm
