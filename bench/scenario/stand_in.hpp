// Stand-ins for node and npm, so that a made-up project can be installed without a network: bench_create called by one
// of these names answers what pfnm asks of them.
#pragma once

#include <string>
#include <vector>

#include "nmstore/base/result.hpp"

namespace pfnm::bench {

// Makes `directory` with links "node" and "npm" to this program; npm will write so many files into each package.
[[nodiscard]] Status make_toolchain(const std::string& directory, std::size_t files_per_package);

// What main() does under those names. `invoked_as` is argv[0] as pfnm gives it: a path.
[[nodiscard]] int run_as_node();
[[nodiscard]] int run_as_npm(const std::string& invoked_as, const std::vector<std::string>& arguments);

}  // namespace pfnm::bench
