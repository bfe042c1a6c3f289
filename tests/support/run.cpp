#include "tests/support/run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include "nmstore/platform/process.hpp"

namespace pfnm::test {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& text : strings) out.push_back(const_cast<char*>(text.c_str()));  // exec's old signature
  out.push_back(nullptr);
  return out;
}

std::string path_of(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment)
    if (entry.starts_with("PATH=")) return entry.substr(5);
  return {};
}

std::string take_output(int fd) {
  std::string text;
  std::array<char, 1U << 16U> buffer{};
  ::lseek(fd, 0, SEEK_SET);
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

}  // namespace

Running::Running(const RunSpec& spec) : deadline_(std::chrono::steady_clock::now() + spec.limit) {
  std::string program = spec.argv.at(0);
  if (program.find('/') == std::string::npos) {
    const auto found = find_program(program, path_of(spec.environment));
    if (!found) throw std::runtime_error(program + " is not on the PATH of this test");
    program = *found;
  }
  out_ = ::memfd_create("out", MFD_CLOEXEC);
  err_ = ::memfd_create("err", MFD_CLOEXEC);
  const auto argv = pointers(spec.argv);
  const auto environment = pointers(spec.environment);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ > 0) {
    ::setpgid(pid_, pid_);
    return;
  }
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, 0);
  ::dup2(out_, 1);
  ::dup2(err_, 2);
  if (!spec.directory.empty() && ::chdir(spec.directory.c_str()) != 0) ::_exit(126);
  ::execve(program.c_str(), argv.data(), environment.data());
  ::_exit(127);
}

Running::Running(Running&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), out_(other.out_), err_(other.err_), deadline_(other.deadline_) {}

Running::~Running() {
  if (pid_ > 0) std::ignore = wait();
}

RunResult Running::wait() {
  RunResult result;
  const int watch = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
  pollfd ready{watch, POLLIN, 0};
  int polled = 0;
  do {
    polled = ::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
  } while (polled < 0 && errno == EINTR);
  ::close(watch);
  if (polled == 0) {
    result.timed_out = true;
    ::kill(-pid_, SIGKILL);
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  result.rc = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = take_output(out_);
  result.err = take_output(err_);
  return result;
}

RunResult run(const RunSpec& spec) { return Running(spec).wait(); }

std::vector<std::string> with_environment(std::vector<std::string> base, const std::vector<std::string>& changes) {
  for (const std::string& change : changes) {
    const std::string name = change.substr(0, change.find('='));
    std::erase_if(base, [&](const std::string& entry) { return entry.starts_with(name + "="); });
    if (change.find('=') != std::string::npos) base.push_back(change);
  }
  return base;
}

}  // namespace pfnm::test
