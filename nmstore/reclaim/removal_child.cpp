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

// Descriptors and stack that a nested tree may take. What lies deeper is moved up first.
constexpr int k_deepest = 100;

// Names are shown on terminals and in lines.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

std::uint32_t ms_since(Clock::time_point start) {
  return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
}

bool sync_and_answer(const Fd& top, const WorkerChannel& channel) {
  const auto start = Clock::now();
  if (os::debt_of(top.get()) == os::Debt::pay_at_once)
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
    item_ = name;
    // Each round empties what the one before moved up.
    do {
      moved_up_ = false;
      left_.clear();
      remove_entry(top_.get(), name, name, 0);
    } while (moved_up_ && !gone_);
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
      tried_ = 0;
      batch_start_ = Clock::now();
      return true;
    }
    gone_ = true;
    return false;
  }

  // One more change was made; at the end of the batch, reports and waits.
  void count() {
    ++unlinked_;
    tried();
  }
  // What could not be removed takes time, too: without an answer the parent would take it for a stall.
  void tried() {
    ++tried_;
    const bool late = (tried_ & 15U) == 0 && ms_since(batch_start_) >= longest_ms_;
    if (tried_ < budget_ && !late) return;
    const RemovalAnswer answer{RemovalState::more, unlinked_, ms_since(batch_start_), 0};
    if (!channel_.send(&answer, sizeof(answer)) || !wait_for_batch()) gone_ = true;
  }

  void leave(const std::string& shown, int error) { leave(shown, std::string(::strerror(error))); }
  void leave(const std::string& shown, const std::string& why) {
    left_ += printable(shown) + ": " + why + "\n";
    tried();
  }

  void remove_entry(int dir, const std::string& name, const std::string& shown, int depth) {
    const auto removed = fs_.unlink(dir, name);
    if (removed.has_value()) return count();
    const int error = removed.error().sys_errno;
    if (error == ENOENT) return;
    // unlink(2) of a directory: EISDIR on Linux, EPERM by POSIX.
    if (error != EISDIR && !(error == EPERM && is_directory(dir, name))) return leave(shown, error);
    if (depth < k_deepest) return remove_directory(dir, name, shown, depth);
    move_up(dir, name, shown);
  }

  // Into the item's own top, from where the next round begins with it. A directory that is moved needs its write bit.
  void move_up(int dir, const std::string& name, const std::string& shown) {
    const Fd fd = open_directory(dir, name, shown);
    if (!fd) return;
    make_writable(fd, shown);
    const auto moved = fs_.rename_noreplace(dir, name, top_.get(), item_ + "/" + unique_name("deep-"));
    if (!moved.has_value()) return leave(shown, moved.error().sys_errno);
    moved_up_ = true;
    count();
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

  void remove_directory(int dir, const std::string& name, const std::string& shown, int depth) {
    {
      const Fd fd = open_directory(dir, name, shown);
      if (!fd) return;
      make_writable(fd, shown);
      const auto entries = list_dir(fd.get(), shown);
      if (!entries.has_value()) return leave(shown, entries.error().sys_errno);
      for (const DirEntry& entry : *entries) {
        remove_entry(fd.get(), entry.name, shown + "/" + entry.name, depth + 1);
        if (gone_) return;
      }
    }
    const auto removed = fs_.remove_dir(dir, name);
    if (removed.has_value()) {
      count();
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
  std::uint32_t tried_ = 0;
  std::string item_;
  bool moved_up_ = false;
  Clock::time_point batch_start_ = Clock::now();
  bool gone_ = false;
};

}  // namespace

void serve_removals(const Fs& fs, const std::string& directory, const WorkerChannel& channel) {
  os::lower_io_priority();  // not the CPU's: on a busy machine that would make minutes of seconds
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
