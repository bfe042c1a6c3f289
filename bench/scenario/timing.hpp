// Programs timed from fork to exit, all in one harness: what two of them have in common (fork, exec, exit, wait) is
// the same for both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"

namespace pfnm::bench {

struct Command {
  std::vector<std::string> argv;  // argv[0] is a path
  std::string directory;
  std::vector<std::string> environment;  // the whole of it
};

struct Timing {
  double milliseconds = 0;
  double cpu_milliseconds = 0;   // user and system, of the child and its children
  std::int64_t max_rss_kib = 0;  // of the child; never below what fork gave it, see README
};

struct Finished {
  Timing timing;
  int exit_code = 0;  // 128 + signal
  std::string out;    // stdout and stderr
};

// stdin is /dev/null; output goes to a file without a name, so that nobody has to read while it runs.
[[nodiscard]] Result<Finished> run_timed(const Command& command);

// The same, for preparations: an error that shows the output unless the program exits with 0.
[[nodiscard]] Result<std::string> run_checked(const Command& command);

struct Summary {
  std::size_t rounds = 0;
  double median = 0, p10 = 0, p90 = 0;  // milliseconds
  double cpu_median = 0;                // milliseconds
  std::int64_t max_rss_kib = 0;         // the largest
};
// Total; of nothing it is all zero.
[[nodiscard]] Summary summarise(const std::vector<Timing>& timings);

}  // namespace pfnm::bench
