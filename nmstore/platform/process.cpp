#include "nmstore/platform/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <thread>

#include "nmstore/platform/fd.hpp"

namespace pfnm {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Fd read_end;
  Fd write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return fail_errno(errno, "make", "a pipe");
  for (const int end : ends) std::ignore = ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::vector<char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));  // exec's old signature
  pointers.push_back(nullptr);
  return pointers;
}

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

Result<pid_t> spawn(const ChildSpec& spec, int out, int err) {
  FileActions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), out, 1);
  ::posix_spawn_file_actions_adddup2(actions.get(), err, 2);
  // dup2 onto itself clears FD_CLOEXEC (POSIX.1-2024; glibc since 2.29).
  if (spec.keep_open) ::posix_spawn_file_actions_adddup2(actions.get(), *spec.keep_open, *spec.keep_open);
  if (!spec.directory.empty()) ::posix_spawn_file_actions_addchdir_np(actions.get(), spec.directory.c_str());
  const auto argv = c_strings(spec.argv);
  const auto environment = c_strings(spec.environment);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, spec.argv.at(0).c_str(), actions.get(), nullptr, argv.data(), environment.data());
  if (error != 0) return fail_errno(error, "run", spec.argv.at(0));
  return pid;
}

// Moves what is ready into `text`; closes the descriptor at its end.
void drain(Fd& fd, std::string& text) {
  std::array<char, 1U << 16U> buffer{};
  const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  if (got > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  } else if (got == 0 || errno != EINTR) {
    fd = Fd();
  }
}

void poll_outputs(Fd& out, std::string& out_text, Fd& err, std::string& err_text, int wait_ms) {
  std::array<pollfd, 2> fds{{{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}}};
  if (::poll(fds.data(), fds.size(), wait_ms) <= 0) return;
  if (fds[0].revents != 0) drain(out, out_text);
  if (fds[1].revents != 0) drain(err, err_text);
}

int exit_code_of(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return 128 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

}  // namespace

Result<ChildResult> run_child(const ChildSpec& spec) {
  PFNM_TRY_ASSIGN(Pipe out, make_pipe());
  PFNM_TRY_ASSIGN(Pipe err, make_pipe());
  const int child_out = spec.output.value_or(out.write_end.get());
  const int child_err = spec.output.value_or(err.write_end.get());
  PFNM_TRY_ASSIGN(const pid_t pid, spawn(spec, child_out, child_err));
  out.write_end = Fd();
  err.write_end = Fd();
  ChildResult result;
  const auto start = Clock::now();
  int status = 0;
  while (true) {
    const pid_t waited = ::waitpid(pid, &status, WNOHANG);
    if (waited == pid) break;
    if (waited < 0 && errno != EINTR) return fail_errno(errno, "wait for", spec.argv[0]);
    // With pipes the wait ends when the child writes or exits; with a log descriptor there is nothing to poll, so the
    // first waits are short for the sake of short children.
    const bool early = Clock::now() - start < std::chrono::milliseconds(100);
    const bool heard_all = !out.read_end && !err.read_end;
    if (heard_all && !spec.output) {
      std::this_thread::sleep_for(std::chrono::microseconds(early ? 50 : 1000));  // it is about to be gone
    } else {
      poll_outputs(out.read_end, result.out, err.read_end, result.err, early ? 5 : 100);
    }
    if (!early && spec.on_tick) spec.on_tick();
    if (spec.time_limit && !result.timed_out && Clock::now() - start > *spec.time_limit) {
      result.timed_out = true;
      ::kill(pid, SIGKILL);
    }
  }
  // What a grandchild still holds open is not waited for: only what is there already is taken.
  for (int i = 0; i < 64 && (out.read_end || err.read_end); ++i)
    poll_outputs(out.read_end, result.out, err.read_end, result.err, 0);
  result.exit_code = exit_code_of(status);
  return result;
}

std::optional<std::string> find_program(const std::string& name, const std::string& path_variable) {
  std::string_view rest = path_variable;
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const std::string_view directory = rest.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
    if (!directory.starts_with('/')) continue;  // a relative PATH entry would make the answer depend on the cwd
    std::string candidate = std::string(directory) + "/" + name;
    struct stat st {};
    if (::stat(candidate.c_str(), &st) == 0 && S_ISREG(st.st_mode) && ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return std::nullopt;
}

bool process_exists(std::uint64_t pid) {
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

Result<Fd> run_detached(const std::function<void(int pipe)>& work) {
  PFNM_TRY_ASSIGN(Pipe pipe, make_pipe());
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "start", "a background process");
  if (child > 0) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return std::move(pipe.read_end);
  }
  // A second fork, so that init and not our caller inherits the worker.
  if (::setsid() < 0 || ::fork() != 0) ::_exit(0);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) ::dup2(null, fd);
  // A pipe of our caller kept open would make it wait for us.
  for (int fd = 3; fd < 256; ++fd)
    if (fd != pipe.write_end.get()) ::close(fd);
  work(pipe.write_end.get());
  ::_exit(0);
}

std::optional<std::string> read_until_end(const Fd& pipe, std::chrono::milliseconds time_limit) {
  const auto end = Clock::now() + time_limit;
  std::string text;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd poll_fd{pipe.get(), POLLIN, 0};
    const int ready = ::poll(&poll_fd, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace pfnm
