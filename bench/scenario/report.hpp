// The numbers, for people (a Markdown table) and for programs (JSON).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/scenario/timing.hpp"

namespace pfnm::bench {

struct Row {
  std::string id;     // "link"
  std::string what;   // in words
  std::string floor;  // id of the row it is compared with; empty: none
  double bar = 0;     // the largest ratio of medians that will do; 0: none
  std::vector<Timing> timings;
  std::string skipped;  // why there are no timings
};

struct CreateReport {
  std::string project;      // what was installed, in words
  std::string file_system;  // "ext4"
  std::vector<std::pair<std::string, std::uint64_t>> sizes;
  std::vector<Row> rows;
};

[[nodiscard]] std::string render_table(const CreateReport& report);
[[nodiscard]] std::string render_json(const CreateReport& report);

// No row is over its bar.
enum class Met { no, yes };
[[nodiscard]] Met bars_met(const CreateReport& report);

}  // namespace pfnm::bench
