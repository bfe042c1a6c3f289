#include "bench/scenario/timing.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "nmstore/platform/fd.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm::bench {
namespace {

double now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double milliseconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - std::floor(at));
}

}  // namespace

Result<Finished> run_timed(const Command& command) {
  const auto argv = pointers(command.argv);
  const auto environment = pointers(command.environment);
  const Fd output(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const Fd input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!output || !input) return fail_errno(errno, "open", "/tmp");
  const double start = now_ms();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "fork", command.argv[0]);
  if (child == 0) {
    if (::chdir(command.directory.c_str()) == 0 && ::dup2(input.get(), 0) == 0 && ::dup2(output.get(), 1) == 1 &&
        ::dup2(output.get(), 2) == 2)
      ::execve(argv[0], argv.data(), environment.data());
    ::_exit(127);
  }
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0)
    if (errno != EINTR) return fail_errno(errno, "wait for", command.argv[0]);
  Finished finished;
  finished.timing = {now_ms() - start, milliseconds_of(usage.ru_utime) + milliseconds_of(usage.ru_stime),
                     usage.ru_maxrss};
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (::lseek(output.get(), 0, SEEK_SET) != 0) return fail_errno(errno, "read the output of", command.argv[0]);
  PFNM_TRY_ASSIGN(finished.out, read_all(output.get(), command.argv[0]));
  return finished;
}

Result<std::string> run_checked(const Command& command) {
  PFNM_TRY_ASSIGN(Finished finished, run_timed(command));
  if (finished.exit_code == 0) return std::move(finished.out);
  std::string words;
  for (const std::string& word : command.argv) words += (words.empty() ? "" : " ") + word;
  return fail(Error::make(Errc::failed_child, "run", words,
                          "it exited with " + std::to_string(finished.exit_code) + ": " + finished.out));
}

Summary summarise(const std::vector<Timing>& timings) {
  Summary summary;
  summary.rounds = timings.size();
  if (timings.empty()) return summary;
  std::vector<double> sorted;
  std::vector<double> cpu;
  for (const Timing& timing : timings) {
    sorted.push_back(timing.milliseconds);
    cpu.push_back(timing.cpu_milliseconds);
    summary.max_rss_kib = std::max(summary.max_rss_kib, timing.max_rss_kib);
  }
  std::sort(sorted.begin(), sorted.end());
  std::sort(cpu.begin(), cpu.end());
  summary.cpu_median = percentile(cpu, 0.5);
  summary.median = percentile(sorted, 0.5);
  summary.p10 = percentile(sorted, 0.1);
  summary.p90 = percentile(sorted, 0.9);
  return summary;
}

}  // namespace pfnm::bench
