#include "nmstore/platform/worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace pfnm {
namespace {

using Clock = std::chrono::steady_clock;

// SIGPIPE would end whoever outlives the other.
#ifdef MSG_NOSIGNAL
constexpr int k_send_flags = MSG_NOSIGNAL;
#else
constexpr int k_send_flags = 0;
#endif

bool send_all(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(fd, at, size, k_send_flags);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// Nor may a pipe that somebody reads pfnm's output from: it would not end before the child does.
void drop_standard_streams() {
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2})
    if (null >= 0) ::dup2(null, fd);
  if (null > 2) ::close(null);
}

// A lock of ours must not live on in a child that hangs.
void close_all_but(int keep) {
  for (int fd = 3; fd < 1024; ++fd)
    if (fd != keep) ::close(fd);
}

}  // namespace

bool WorkerChannel::receive(void* data, std::size_t size) const {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(fd_, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool WorkerChannel::send(const void* data, std::size_t size) const { return send_all(fd_, data, size); }

Result<Worker> Worker::start(const std::function<void(const WorkerChannel&)>& serve) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return fail_errno(errno, "make", "a channel");
  Fd ours(ends[0]);
  Fd theirs(ends[1]);
  for (const int end : ends) {
    std::ignore = ::fcntl(end, F_SETFD, FD_CLOEXEC);
#ifdef SO_NOSIGPIPE
    const int on = 1;
    std::ignore = ::setsockopt(end, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on));
#endif
  }
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "start", "a child");
  if (pid > 0) return Worker(pid, std::move(ours));
  drop_standard_streams();
  close_all_but(theirs.get());
  serve(WorkerChannel(theirs.get()));
  ::_exit(0);
}

Worker::Worker(Worker&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)), buffered_(std::move(other.buffered_)) {}

Worker::~Worker() {
  if (pid_ <= 0) return;
  channel_ = Fd();  // an idle child ends by itself
  ::kill(pid_, SIGKILL);
  // Reaped if it dies at once, as all do that are not stuck in the kernel.
  for (int i = 0; i < 20; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) return;
    std::ignore = ::poll(nullptr, 0, 1);
  }
}

Status Worker::send(const void* data, std::size_t size) const {
  if (send_all(channel_.get(), data, size)) return {};
  return fail(Error::make(Errc::failed_child, "ask", "a child", "it has ended"));
}

Result<std::optional<std::string>> Worker::receive(std::size_t size, std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  while (buffered_.size() < size) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd poll_fd{channel_.get(), POLLIN, 0};
    const int ready = ::poll(&poll_fd, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::optional<std::string>{};
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(channel_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(Error::make(Errc::failed_child, "hear from", "a child", "it has ended"));
    buffered_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  std::string answer = buffered_.substr(0, size);
  buffered_.erase(0, size);
  return std::optional<std::string>{std::move(answer)};
}

}  // namespace pfnm
