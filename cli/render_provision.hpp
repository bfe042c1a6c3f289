// What `link` and `private` say: one line for people on stdout, remarks on stderr, or one JSON object on stdout.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/provision.hpp"

namespace pfnm {

enum class OutputForm { text, json };
enum class Said { no, yes };

struct Rendered {
  std::string out;
  std::string err;
};

// `verb`: "link" or "private". `not_run` are the project's own lifecycle scripts, named once, on a first link.
[[nodiscard]] Rendered render_provision(std::string_view verb, OutputForm form, const ProvisionReport& report,
                                        const std::vector<std::pair<std::string, std::string>>& not_run);

[[nodiscard]] Rendered render_error(const Error& error);

// "1.2 GiB"
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

// Writes both streams; false where stdout could not take it.
[[nodiscard]] bool write_rendered(const Rendered& rendered);

}  // namespace pfnm
