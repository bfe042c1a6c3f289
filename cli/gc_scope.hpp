// What the GC has to look at, found out with git's help: the repositories and roots that the store knows of.
#pragma once

#include <string>
#include <vector>

#include "cli/settings.hpp"
#include "nmstore/git/git_cli.hpp"
#include "nmstore/reclaim/gc_survey.hpp"

namespace pfnm {

enum class KeepMemos { no, in_background, yes };

struct GcScopeSource {
  const Fs& fs;
  const Store& store;
  const GitCli& git;
  const GcSettings& settings;
  // The locks of a commit never change; what they are is remembered in the store. In the background where nothing may
  // wait for the store's volume.
  KeepMemos memos = KeepMemos::in_background;
};

[[nodiscard]] GcScope survey_gc_scope(const GcScopeSource& source);

// A probe repository beside the store's trash, and one on each other volume that a known repository lies on.
[[nodiscard]] std::vector<std::string> probe_scratches(const Store& store, const std::vector<std::string>& repositories);
// Common directories of the repositories that the store knows of, each once.
[[nodiscard]] std::vector<std::string> known_repositories(const Store& store);

}  // namespace pfnm
