#include "nmstore/reclaim/pacer.hpp"

#include <algorithm>

namespace pfnm {
namespace {

std::string in_ms(const char* what, std::int64_t ms) { return std::string(what) + " " + std::to_string(ms) + " ms"; }

}  // namespace

std::string pace_word(Pace pace) {
  switch (pace) {
    case Pace::start:
      return "start";
    case Pace::grow:
      return "grow";
    case Pace::hold:
      return "hold";
    case Pace::shrink:
      return "shrink";
    case Pace::back_off:
      return "back off";
    case Pace::stop:
      return "stop";
  }
  return "stop";
}

Pacer::Pacer(const PacerPolicy& policy, std::int64_t felt_ms, std::int64_t deep_ms) : policy_(policy) {
  step_.pace = Pace::start;
  step_.why = in_ms("ref write", felt_ms) + ", " + in_ms("with fsync", deep_ms);
  if (felt_ms > policy.soft_ms) {
    step_.pace = Pace::stop;
    step_.why += ": stalled already";
    return;
  }
  // An fsync costs a journal commit, which is what a batch will wait for, however small it is: on a slow volume the
  // target must lie above that, or no batch is small enough.
  policy_.target_ms = std::clamp(4 * deep_ms, policy.target_ms, std::max(policy.target_ms, policy.hard_ms / 2));
  step_.batch = policy.first_batch;
  // Where a commit takes that long, one of a large batch holds up a ref write for longer than the soft limit.
  if (deep_ms > 4) policy_.largest_batch = std::min(policy.largest_batch, policy.first_batch);
  if (deep_ms > 10) step_.batch /= 8;
  if (deep_ms > 50) step_.batch = std::min(step_.batch, 2 * policy.smallest_batch);
  step_.batch = std::clamp(step_.batch, policy.smallest_batch, policy_.largest_batch);
}

const PacerStep& Pacer::next(const PacerSample& sample) {
  const std::int64_t paid = std::max(sample.sync_ms, sample.felt_ms);
  step_.why = std::to_string(sample.unlinked) + " in " + std::to_string(sample.unlink_ms) + " ms, " +
              in_ms("paid in", sample.sync_ms) + ", " + in_ms("ref write", sample.felt_ms);
  if (sample.felt_ms > policy_.hard_ms) {
    step_.pace = Pace::stop;
  } else if (sample.felt_ms > policy_.soft_ms) {
    step_.pace = Pace::back_off;
    step_.batch = std::max(policy_.smallest_batch, step_.batch / 2);
    step_.pause_ms = std::min(policy_.longest_pause_ms, std::max<std::int64_t>(100, step_.pause_ms * 2));
  } else if (sample.sync_ms > policy_.target_ms || sample.unlink_ms > policy_.longest_batch_ms) {
    step_.pace = Pace::shrink;
    step_.batch = std::max(policy_.smallest_batch, step_.batch - step_.batch / 4);
  } else {
    // Additive recovery of the pause, gentle growth of the batch.
    step_.pause_ms = std::max<std::int64_t>(0, step_.pause_ms - 50);
    // Far from the limits by an eighth, near them by one entry: the halving above finds the place again.
    const std::uint32_t more = paid * 2 < policy_.target_ms ? std::max<std::uint32_t>(1, step_.batch / 8) : 1;
    step_.pace = step_.batch < policy_.largest_batch ? Pace::grow : Pace::hold;
    step_.batch = std::min(policy_.largest_batch, step_.batch + more);
  }
  return step_;
}

}  // namespace pfnm
