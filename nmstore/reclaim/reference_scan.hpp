// Who names an install: the announced references, and what is found by looking (SPEC 6.1, 6.3). Reads only; whatever
// cannot be read becomes a fact.
#pragma once

#include <string>
#include <vector>

#include "nmstore/reclaim/judge.hpp"
#include "nmstore/reclaim/marker.hpp"
#include "nmstore/store/reference.hpp"

namespace pfnm {

struct ScanScope {
  std::vector<std::string> worktrees;  // of every known repository
  std::vector<std::string> below;      // where in a worktree projects are known to lie; "" is its root
  std::vector<std::string> roots;      // directories that worktrees and copies lie in; looked at two levels deep
};

struct FoundMarker {
  std::string directory;  // the node_modules, or whatever holds the marker
  Marker marker;          // names or unreadable
};

struct ReferenceScan {
  std::vector<FoundMarker> found;
  std::vector<BlindSpot> blind;
};
[[nodiscard]] ReferenceScan scan_for_markers(const ScanScope& scope);

// One announced reference, as the place is now.
[[nodiscard]] ReferenceFact survey_announced(const Reference& reference);

// Is a path that is not there certainly gone, or is its file system not mounted? `volume` is what it was on.
enum class Absence { gone, unmounted };
[[nodiscard]] Absence survey_absence(const std::string& path, const std::string& volume);

}  // namespace pfnm
