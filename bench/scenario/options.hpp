// What the scenario is asked to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"

namespace pfnm::bench {

struct CreateOptions {
  std::string directory;    // scratch, made if missing; its file system is the one measured
  std::string project;      // a real one, copied; empty: a made-up one
  std::string store;        // empty: below the scratch directory
  std::string bin;          // where pfnm and bench_replay are; empty: beside this program
  std::string json;         // a file for the numbers; empty: none
  std::size_t rounds = 15;  // of links
  std::size_t hook_rounds = 300;
  std::size_t copy_rounds = 3;  // cp -al and the reflink copy
  std::size_t npm_rounds = 0;   // npm ci; only with a real project
  std::size_t packages = 1000;  // of the made-up project
  std::size_t files_per_package = 40;
};

[[nodiscard]] std::string_view usage_text();
// argv without the program's name; nothing where help was asked for.
[[nodiscard]] Result<std::optional<CreateOptions>> parse_options(const std::vector<std::string>& arguments);

}  // namespace pfnm::bench
