// What the front can do alone: a worktree whose install is known and sealed (docs/decisions/0005). Everything it cannot
// decide with certainty it leaves to pfnm-main; it never guesses.
#pragma once

#include <optional>
#include <string>

#include "cli/process_context.hpp"
#include "cli/provision.hpp"

namespace pfnm {

enum class Caller {
  link,  // an explicit `pfnm link`: the toolchain is that of PATH, a choice of the user's
  hook,  // the toolchain is the marker's (SPEC 5.4)
};

struct FastOutcome {
  ProvisionReport report;
  std::vector<std::pair<std::string, std::string>> not_run;
};

// Nothing: pfnm-main is needed. Takes the worktree's lock and a lease for as long as it works.
[[nodiscard]] Result<std::optional<FastOutcome>> try_fast_link(const Fs& fs, const ProcessContext& process,
                                                               const std::string& directory, Caller caller);

// The hook's usual answer: the marker's inputs and toolchain are what they were and the layout stands. Reads only the
// marker and stats; false says nothing but "look closer".
enum class NothingToDo { no, yes };
[[nodiscard]] NothingToDo survey_nothing_to_do(const ProcessContext& process, const std::string& directory);

}  // namespace pfnm
