#include "nmstore/reclaim/removal_child.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "nmstore/platform/os.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

using Clock = std::chrono::steady_clock;

std::uint32_t ms_since(Clock::time_point start) {
  return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
}

bool sync_and_answer(const Fd& top, const WorkerChannel& channel) {
  const auto start = Clock::now();
  std::ignore = os::sync_file_system(top.get());  // what matters is how long it took
  const RemovalAnswer answer{RemovalState::synced, 0, ms_since(start), 0};
  return channel.send(&answer, sizeof(answer));
}

class Removal {
 public:
  Removal(const Fs& fs, const WorkerChannel& channel, const Fd& top) : fs_(fs), channel_(channel), top_(top) {}

  // False: the parent is gone.
  bool remove(const std::string& name) {
    left_.clear();
    if (!wait_for_batch()) return false;
    remove_entry(top_.get(), name, name);
    if (gone_) return false;
    RemovalAnswer answer{RemovalState::done, unlinked_, ms_since(batch_start_), static_cast<std::uint32_t>(left_.size())};
    return channel_.send(&answer, sizeof(answer)) && channel_.send(left_.data(), left_.size());
  }

 private:
  // Answers what is asked between two batches.
  bool wait_for_batch() {
    RemovalRequest request;
    while (channel_.receive(&request, sizeof(request))) {
      if (request.order == RemovalOrder::sync) {
        if (!sync_and_answer(top_, channel_)) return false;
        continue;
      }
      budget_ = request.size;
      longest_ms_ = request.longest_ms;
      unlinked_ = 0;
      batch_start_ = Clock::now();
      return true;
    }
    gone_ = true;
    return false;
  }

  // One more change was made; at the end of the batch, reports and waits.
  bool count() {
    ++unlinked_;
    const bool late = (unlinked_ & 15U) == 0 && ms_since(batch_start_) >= longest_ms_;
    if (unlinked_ < budget_ && !late) return true;
    const RemovalAnswer answer{RemovalState::more, unlinked_, ms_since(batch_start_), 0};
    if (!channel_.send(&answer, sizeof(answer))) gone_ = true;
    return !gone_ && wait_for_batch();
  }

  void leave(const std::string& shown, int error) { leave(shown, std::string(::strerror(error))); }
  void leave(const std::string& shown, const std::string& why) { left_ += shown + ": " + why + "\n"; }

  void remove_entry(int dir, const std::string& name, const std::string& shown) {
    const auto removed = fs_.unlink(dir, name);
    if (removed.has_value()) {
      std::ignore = count();
      return;
    }
    const int error = removed.error().sys_errno;
    if (error == ENOENT) return;
    // unlink(2) of a directory: EISDIR on Linux, EPERM by POSIX.
    if (error == EISDIR || (error == EPERM && is_directory(dir, name))) return remove_directory(dir, name, shown);
    leave(shown, error);
  }

  Fd open_directory(int dir, const std::string& name, const std::string& shown) {
    int raw = -1;
    int error = os::open_dir_beneath(dir, name.c_str(), raw);
    if (error == EACCES && is_directory(dir, name) && fs_.set_mode(dir, name, 0700).has_value())
      error = os::open_dir_beneath(dir, name.c_str(), raw);
    if (error == 0) return Fd(raw);
    if (error == EXDEV) {
      leave(shown, "something is mounted there");
    } else if (error != ENOENT) {
      leave(shown, error);
    }
    return Fd();
  }

  static bool is_directory(int dir, const std::string& name) {
    const auto st = stat_at(dir, name);
    return st.has_value() && st->is_dir();
  }

  void remove_directory(int dir, const std::string& name, const std::string& shown) {
    {
      const Fd fd = open_directory(dir, name, shown);
      if (!fd) return;
      make_writable(fd, shown);
      const auto entries = list_dir(fd.get(), shown);
      if (!entries.has_value()) return leave(shown, entries.error().sys_errno);
      for (const DirEntry& entry : *entries) {
        remove_entry(fd.get(), entry.name, shown + "/" + entry.name);
        if (gone_) return;
      }
    }
    const auto removed = fs_.remove_dir(dir, name);
    if (removed.has_value()) {
      std::ignore = count();
    } else if (removed.error().sys_errno != ENOENT && removed.error().sys_errno != ENOTEMPTY) {
      leave(shown, removed.error().sys_errno);
    }  // not empty: what is left in it has its own line
  }

  // Through the descriptor: nothing that took the name meanwhile. Root needs no bits.
  void make_writable(const Fd& fd, const std::string& shown) {
    if (::geteuid() == 0) return;
    const auto st = stat_fd(fd.get(), shown);
    if (!st.has_value() || (st->mode & 0300U) == 0300U) return;
    std::ignore = fs_.set_mode_of(fd.get(), shown, 0700);  // the unlinks will say what could not be
  }

  const Fs& fs_;
  const WorkerChannel& channel_;
  const Fd& top_;
  std::string left_;
  std::uint32_t budget_ = 0;
  std::uint32_t longest_ms_ = 0;
  std::uint32_t unlinked_ = 0;
  Clock::time_point batch_start_ = Clock::now();
  bool gone_ = false;
};

}  // namespace

void serve_removals(const Fs& fs, const std::string& directory, const WorkerChannel& channel) {
  os::become_background();
  const auto top = open_dir_at(AT_FDCWD, directory);
  if (!top.has_value()) return;
  RemovalRequest request;
  while (channel.receive(&request, sizeof(request))) {
    if (request.order == RemovalOrder::sync) {
      if (!sync_and_answer(*top, channel)) return;
      continue;
    }
    if (request.order != RemovalOrder::remove) return;
    std::string name(request.size, '\0');
    if (!channel.receive(name.data(), name.size())) return;
    // One component, not "." or "..": it cannot lead anywhere else.
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) return;
    if (!Removal(fs, channel, *top).remove(name)) return;
  }
}

}  // namespace pfnm
