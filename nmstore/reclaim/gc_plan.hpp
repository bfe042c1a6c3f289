// What a run of the GC would do. Pure; a dry run prints it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nmstore/reclaim/gc_survey.hpp"
#include "nmstore/reclaim/judge.hpp"

namespace pfnm {

struct GcPolicy {
  ReclaimPolicy reclaim;
  std::optional<std::uint64_t> max_bytes;  // stop once this much was chosen
  unsigned pressure_percent = 92;          // used space from which the trash is not kept
};

struct PlannedInstall {
  InstallFacts facts;
  Judgement judgement;
  enum class Chosen { no, yes } chosen = Chosen::no;  // may be reclaimed, and is within max_bytes
};

struct PlannedTrash {
  TrashItem item;
  enum class Action {
    wait,    // until `due_at`
    remove,
    settle,  // an interrupted run's: put back or dropped
  } action = Action::wait;
  std::int64_t due_at = 0;
};

struct GcPlan {
  std::vector<PlannedInstall> installs;  // those that go first, least recently used first; then the others by name
  std::vector<PlannedTrash> trash;
  std::vector<std::string> unexplained;  // trash that no record explains: never touched
  std::vector<BlindSpot> blind;
  std::vector<Reference> dead_references;  // records that need not be kept any longer
  enum class Pressure { no, yes } pressure = Pressure::no;
  std::uint64_t chosen = 0;
  std::uint64_t chosen_bytes = 0;  // as sealed; what comes free is measured
};

[[nodiscard]] GcPlan plan_gc(const GcFacts& facts, const GcPolicy& policy, std::int64_t now);

}  // namespace pfnm
