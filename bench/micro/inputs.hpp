// What the benchmarks work on: a made-up lock of fixed seed, or the real one that PFNM_BENCH_LOCK names.
#pragma once

#include <string>

#include "nmstore/lock/npm_lock.hpp"
#include "nmstore/store/plan.hpp"
#include "nmstore/store/record.hpp"

namespace pfnm::bench {

// Ends the program with a message: a benchmark whose result is wrong has measured nothing.
void require(bool holds, const char* what);

// Read or made at the first call.
[[nodiscard]] const std::string& lock_text();
[[nodiscard]] const NpmLock& parsed_lock();

// One directory with a link for each package at the top, in the form the product plans them.
[[nodiscard]] const LayoutPlan& layout_plan();
// The record of a worktree with that layout and a dozen inputs.
[[nodiscard]] const Record& record();

}  // namespace pfnm::bench
