// What `gc` says: the plan, what was done, the history.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/render_provision.hpp"
#include "nmstore/db/ledger.hpp"
#include "nmstore/reclaim/gc.hpp"

namespace pfnm {

struct GcAnswer {
  std::string store;
  GcPlan plan;
  enum class Applied { no, yes } applied = Applied::no;
  GcReport report;             // applied
  std::string stopped;         // "": it was not; "window", "blind", "fs-stalled", "fs-stall-during-delete", "failed"
  std::string why;             // in words
  std::uint64_t hidden_processes = 0;
};
[[nodiscard]] Rendered render_gc(const GcAnswer& answer, OutputForm form);

struct HistoryRun {
  LedgerRun run;
  std::vector<LedgerEntry> entries;
};
[[nodiscard]] Rendered render_history(const std::vector<HistoryRun>& runs, OutputForm form);

// Shared with `install ls`.
[[nodiscard]] std::vector<std::string> reason_texts(const Judgement& judgement);

}  // namespace pfnm
