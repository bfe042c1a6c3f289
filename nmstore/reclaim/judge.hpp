// May an install be reclaimed? Pure: facts in, a verdict with its reasons out (SPEC 6.2, 6.3). What could not be told is
// a reason to keep.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nmstore/store/names.hpp"

namespace pfnm {

enum class Liveness {
  live,
  dead,     // certainly: gone with its file system mounted, or readable and naming nothing or something else
  unknown,  // unreadable, unmounted: counts as live
};

// A place that names the install, or did.
struct ReferenceFact {
  std::string path;
  Liveness liveness = Liveness::unknown;
  std::string why;             // unknown: the reason
  std::int64_t used_until = 0; // the last moment at which it can have been a reference; seconds since the epoch
};

enum class Held { no, yes, unknown };

struct InstallFacts {
  InstallName name;
  enum class Place {
    sealed,
    unsealed,       // a build that is running or was interrupted
    missing,        // sealed, but its directory is gone
    not_directory,  // sealed, but something else has its name
  } place = Place::sealed;
  std::int64_t made_at = 0;     // sealed, or its build started
  std::int64_t last_leased = 0; // 0: never
  Held leased = Held::unknown;  // somebody links it, copies it or verifies it
  Held building = Held::no;
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  std::vector<ReferenceFact> references;
  std::vector<std::string> processes;         // "process 12 has a file of it open: ..."
  std::vector<std::string> default_branches;  // repositories with this lock there
  std::vector<std::string> mounted_inside;    // mount points below it
};

// Something that had to be read and could not: nothing is reclaimed then.
struct BlindSpot {
  std::string what;  // "the repository", "the root", "the list of processes"
  std::string path;
  std::string why;
};

enum class Sight { clear, blind };

struct ReclaimPolicy {
  std::int64_t grace_seconds = std::int64_t{24} * 3600;  // after an install was sealed or last referenced, and of the trash
};

enum class Verdict { keep, reclaim };
[[nodiscard]] std::string_view verdict_word(Verdict verdict);

enum class ReasonCode {
  referenced,
  reference_unknown,
  in_use,
  default_branch,
  leased,
  building,
  mounted_inside,
  recently_made,
  recently_used,
  not_ours_now,
  blind,
  unreferenced,       // the only one that lets go
  interrupted_build,  // and this
};
[[nodiscard]] std::string_view reason_word(ReasonCode code);

struct Reason {
  ReasonCode code = ReasonCode::blind;
  std::string detail;
  // "referenced: /w/one"
  [[nodiscard]] std::string text() const;
};

struct Judgement {
  Verdict verdict = Verdict::keep;
  std::vector<Reason> reasons;      // never empty
  std::int64_t last_used = 0;       // the latest of all that is known
  std::int64_t eligible_at = 0;     // where only time is missing; 0: more than time is
};

[[nodiscard]] Judgement judge(const InstallFacts& facts, const ReclaimPolicy& policy, Sight sight, std::int64_t now);

}  // namespace pfnm
