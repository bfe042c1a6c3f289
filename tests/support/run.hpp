// Running programs in tests: an argument vector, an environment of its own, captured output, and a time limit that ends
// the whole process group.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace pfnm::test {

struct RunSpec {
  std::vector<std::string> argv;  // argv[0] is searched in the PATH of `environment`
  std::vector<std::string> environment;
  std::string directory;
  std::chrono::seconds limit{120};
};

struct RunResult {
  int rc = -1;  // 128 + signal where a signal ended it
  bool timed_out = false;
  std::string out;
  std::string err;
  [[nodiscard]] std::string all() const { return out + err; }
};

// Started, not waited for. Its end is waited for in the destructor if nobody did.
class Running {
 public:
  explicit Running(const RunSpec& spec);
  Running(Running&& other) noexcept;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();
  [[nodiscard]] RunResult wait();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::chrono::steady_clock::time_point deadline_;
};

[[nodiscard]] RunResult run(const RunSpec& spec);

// `base` with "NAME=value" entries of `changes` in place of its own; "NAME" alone removes it.
[[nodiscard]] std::vector<std::string> with_environment(std::vector<std::string> base,
                                                        const std::vector<std::string>& changes);

}  // namespace pfnm::test
