// Everything that decides about installs, read once (SPEC 6.1 to 6.3). Reads only; a failure becomes a fact.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nmstore/base/digest.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/reclaim/judge.hpp"
#include "nmstore/reclaim/reference_scan.hpp"
#include "nmstore/store/trash.hpp"

namespace pfnm {

// What git knows, as values: this folder does not ask it.
struct GcScope {
  ScanScope scan;
  std::vector<std::pair<Digest, std::string>> default_locks;  // a lock's digest, and the repository with it
  std::vector<BlindSpot> blind;
};

struct GcFacts {
  std::vector<InstallFacts> installs;  // sorted by name
  std::vector<std::pair<Reference, ReferenceFact>> references;
  Trash trash;
  std::vector<BlindSpot> blind;
  std::optional<VolumeSpace> space;    // of the store's volume
  std::uint64_t hidden_processes = 0;
};

// `only`: that install alone; the caller holds its lease exclusively and its build lock, so neither is asked for.
[[nodiscard]] GcFacts survey_gc(const Store& store, const GcScope& scope, const std::optional<InstallName>& only = {});

}  // namespace pfnm
