// Doing what was planned (SPEC 6.4): each install is judged again under its lease, with fresh facts, and goes to the
// trash; what has been in the trash long enough is deleted by the paced remover.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/reclaim/gc_plan.hpp"
#include "nmstore/reclaim/remover.hpp"

namespace pfnm {

enum class GcStep { settle, reclaim, remove };
[[nodiscard]] std::string_view step_word(GcStep step);

// Where what is done is written down: the intent before, the outcome after. Not called any more once the volume stalls.
class GcLog {
 public:
  virtual ~GcLog() = default;
  virtual Result<std::int64_t> intend(GcStep step, const std::string& subject, std::uint64_t bytes) = 0;
  virtual Status end(std::int64_t entry, const std::string& outcome, const std::string& detail) = 0;
};

struct GcRequest {
  const Fs& fs;
  const Store& store;
  GcPolicy policy;
  GcLog& log;
  std::function<GcScope()> survey_scope;  // asked anew for each install
  std::function<std::int64_t()> now;      // seconds since the epoch
  std::function<bool()> go_on;            // asked before each item and each batch: is the window still open?
  std::function<void(const std::string&)> note;
};

struct GcOutcome {
  std::string subject;  // a key, or an id of the trash
  GcStep step = GcStep::reclaim;
  std::string outcome;  // "trashed", "deleted", "kept", "put back", "dropped", "left", "failed"
  std::string detail;
};

struct GcReport {
  enum class Stopped { no, window, stalled, failed } stopped = Stopped::no;
  std::string why;
  std::vector<GcOutcome> outcomes;
  std::uint64_t reclaimed = 0;    // installs that went to the trash
  std::uint64_t removed = 0;      // items of the trash that were deleted
  std::uint64_t failures = 0;     // items that could not be moved, and were passed over
  std::uint64_t entries = 0;      // unlinked
  std::uint64_t freed_bytes = 0;  // by statvfs, before and after
};

// `remover` was started on the store's trash before anything else was written there, and has found the volume well.
// The caller holds the store's GC lock.
[[nodiscard]] GcReport apply_gc(const GcRequest& request, const GcPlan& plan, Remover& remover);

}  // namespace pfnm
