#include "cli/progress.hpp"

#include <unistd.h>

namespace pfnm {
namespace {

using Clock = std::chrono::steady_clock;

void write_text(int fd, const std::string& text) {
  if (::write(fd, text.data(), text.size()) < 0) return;  // progress nobody can read is no loss
}

}  // namespace

Progress::Progress(int fd) : fd_(fd), terminal_(::isatty(fd) == 1), started_(Clock::now()), last_(started_) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (shown_) write_text(fd_, "\r\x1b[K");
  shown_ = false;
}

void Progress::show(const std::string& detail) {
  if (!terminal_) return;
  write_text(fd_, "\r\x1b[Kpfnm: " + phase_ + detail);
  shown_ = true;
}

void Progress::note(const std::string& text) {
  phase_ = text;
  started_ = Clock::now();
  last_ = started_;
  show("");
}

void Progress::tick() {
  if (!terminal_ || Clock::now() - last_ < std::chrono::milliseconds(200)) return;
  last_ = Clock::now();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(last_ - started_).count();
  show(" (" + std::to_string(seconds) + " s)");
}

void Progress::count(std::uint64_t done, std::uint64_t total, const char* unit) {
  if (!terminal_ || Clock::now() - last_ < std::chrono::milliseconds(100)) return;
  last_ = Clock::now();
  const double seconds = std::chrono::duration<double>(last_ - started_).count();
  std::string detail = ": " + std::to_string(done);
  if (total > 0) detail += " of " + std::to_string(total);
  detail += std::string(" ") + unit;
  if (seconds > 0.5) {
    const double rate = static_cast<double>(done) / seconds;
    detail += ", " + std::to_string(static_cast<std::uint64_t>(rate)) + "/s";
    if (total > done && rate > 0)
      detail += ", " + std::to_string(static_cast<std::uint64_t>(static_cast<double>(total - done) / rate)) + " s left";
  }
  show(detail);
}

BuildProgress Progress::for_build() {
  BuildProgress progress;
  progress.note = [this](const std::string& text) { note(text); };
  progress.tick = [this] { tick(); };
  progress.count = [this](std::uint64_t done, std::uint64_t total) { count(done, total, "entries"); };
  return progress;
}

}  // namespace pfnm
