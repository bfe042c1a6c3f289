// How much to delete at once, and how long to wait then (SPEC 7.2, 7.3). Pure: a sample in, a decision that says why out.
#pragma once

#include <cstdint>
#include <string>

namespace pfnm {

struct PacerPolicy {
  std::int64_t soft_ms = 250;      // a ref write slower than this halves the batch
  std::int64_t hard_ms = 1000;     // and this stops the run
  std::int64_t target_ms = 60;     // what paying the debt of one batch may take; on slow volumes it is raised
  std::int64_t longest_batch_ms = 500;
  std::int64_t longest_pause_ms = 2000;
  std::int64_t no_answer_ms = 10'000;
  std::uint32_t first_batch = 256;
  std::uint32_t smallest_batch = 8;
  std::uint32_t largest_batch = 2048;
};

// What one batch did.
struct PacerSample {
  std::uint32_t unlinked = 0;
  std::int64_t unlink_ms = 0;
  std::int64_t sync_ms = 0;  // the file system's debt paid
  std::int64_t felt_ms = 0;  // a ref write that began after the last unlink
};

enum class Pace {
  start,
  grow,
  hold,
  shrink,   // paying took longer than the target
  back_off, // a ref write was slower than the soft limit
  stop,     // or than the hard one
};
[[nodiscard]] std::string pace_word(Pace pace);

struct PacerStep {
  Pace pace = Pace::hold;
  std::uint32_t batch = 0;
  std::int64_t pause_ms = 0;
  std::string why;
};

class Pacer {
 public:
  // From the answers before the first unlink, medians in milliseconds: of a plain ref write and of one with fsync.
  Pacer(const PacerPolicy& policy, std::int64_t felt_ms, std::int64_t deep_ms);
  [[nodiscard]] const PacerStep& current() const { return step_; }
  const PacerStep& next(const PacerSample& sample);

 private:
  PacerPolicy policy_;
  PacerStep step_;
};

}  // namespace pfnm
