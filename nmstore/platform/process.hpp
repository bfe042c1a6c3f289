// Child processes: an argument vector and an environment, never a shell string (SPEC 1.8).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fd.hpp"
#include "nmstore/platform/fs.hpp"

namespace pfnm {

struct ChildSpec {
  std::vector<std::string> argv;         // argv[0] is a path, not a name to search
  std::vector<std::string> environment;  // "NAME=value"; the whole of it
  std::string directory;                 // working directory; empty: this process's
  std::optional<int> output;             // stdout and stderr go to this descriptor; else both are captured
  std::optional<int> keep_open;          // a descriptor the child inherits under the same number
  std::optional<std::chrono::milliseconds> time_limit;
  std::function<void()> on_tick;         // about every 200 ms while it runs
};

struct ChildResult {
  int exit_code = 0;    // 128 + signal where a signal ended it
  bool timed_out = false;
  std::string out;
  std::string err;
  [[nodiscard]] bool ok() const { return exit_code == 0 && !timed_out; }
};

// Runs to the end. stdin is /dev/null. An error only where it could not be started or waited for.
[[nodiscard]] Result<ChildResult> run_child(const ChildSpec& spec);

// The first executable regular file `name` in the directories of `path_variable`; nothing where there is none.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name, const std::string& path_variable);

// Is there a process with this id? One of another user counts.
[[nodiscard]] bool process_exists(std::uint64_t pid);

// Runs `work` in a process of its own session, with none of our descriptors, and does not wait. It is given the write
// end of a pipe; what it writes there, and its end, arrive at the returned read end.
[[nodiscard]] Result<Fd> run_detached(const std::function<void(int pipe)>& work);

// Reads a pipe until its other end closes or the time is up. Nothing: the time is up.
[[nodiscard]] std::optional<std::string> read_until_end(const Fd& pipe, std::chrono::milliseconds time_limit);

}  // namespace pfnm
