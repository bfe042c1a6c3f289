// What the process was started with; the one place that reads the environment.
#pragma once

#include <string>
#include <vector>

#include "nmstore/base/result.hpp"

namespace pfnm {

struct ProcessContext {
  std::vector<std::string> environment;
  std::string directory;  // absolute

  [[nodiscard]] std::string variable(std::string_view name) const;
  // ${PFNM_STORE:-~/.cache/pf-node-modules}, absolute (SPEC 2.1).
  [[nodiscard]] Result<std::string> store_root() const;
};

[[nodiscard]] ProcessContext survey_process(char** environment);

}  // namespace pfnm
