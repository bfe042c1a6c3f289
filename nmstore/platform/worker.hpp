// A forked child that does system calls which may never return (a stalled file system), so that its parent can give up
// on it. A child in uninterruptible sleep cannot be killed: it is left to the kernel, and never waited for.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fd.hpp"

namespace pfnm {

// The child's end: blocking.
class WorkerChannel {
 public:
  explicit WorkerChannel(int fd) : fd_(fd) {}
  // False: the parent is gone.
  [[nodiscard]] bool receive(void* data, std::size_t size) const;
  [[nodiscard]] bool send(const void* data, std::size_t size) const;

 private:
  int fd_;
};

class Worker {
 public:
  // `serve` runs in the child, with none of our descriptors but the channel (the standard streams are /dev/null), until it
  // returns or the parent is gone.
  [[nodiscard]] static Result<Worker> start(const std::function<void(const WorkerChannel&)>& serve);
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&&) = delete;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  // Kills it and does not wait.
  ~Worker();

  [[nodiscard]] Status send(const void* data, std::size_t size) const;
  // Exactly `size` bytes. Nothing: the time is up, and what comes later is for the next call. Errc::failed_child: the
  // child has ended.
  [[nodiscard]] Result<std::optional<std::string>> receive(std::size_t size, std::chrono::milliseconds limit);

 private:
  Worker(pid_t pid, Fd channel) : pid_(pid), channel_(std::move(channel)) {}
  pid_t pid_;
  Fd channel_;
  std::string buffered_;
};

}  // namespace pfnm
