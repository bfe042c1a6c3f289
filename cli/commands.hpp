// One function per verb: parse has been done, it surveys, plans, applies and renders.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/render_provision.hpp"
#include "cli/session.hpp"
#include "cli/time_text.hpp"
#include "nmstore/reclaim/pacer.hpp"

namespace pfnm {

struct LinkOptions {
  std::string directory;
  std::string layout;  // "", "links", "private"
  Force force = Force::no;
  OutputForm form = OutputForm::text;
};
ExitCode command_link(const Session& session, const LinkOptions& options);
ExitCode command_private(const Session& session, const LinkOptions& options);
ExitCode command_hook(const Session& session, const std::vector<std::string>& arguments);

struct InitOptions {
  std::string directory;
  enum class Undo { no, yes } undo = Undo::no;
  OutputForm form = OutputForm::text;
};
ExitCode command_init(const Session& session, const InitOptions& options);

struct StatusOptions {
  std::string directory;
  OutputForm form = OutputForm::text;
};
ExitCode command_status(const Session& session, const StatusOptions& options);

struct PathOptions {
  std::string directory;
  std::string package;
  OutputForm form = OutputForm::text;
};
ExitCode command_path(const Session& session, const PathOptions& options);

struct InstallOptions {
  std::string directory;  // build
  std::string key;        // ls --why, verify: a prefix of the key is enough
  enum class All { no, yes } all = All::no;
  Anew anew = Anew::no;   // build
  OutputForm form = OutputForm::text;
};
ExitCode command_install_ls(const Session& session, const InstallOptions& options);
ExitCode command_install_build(const Session& session, const InstallOptions& options);
ExitCode command_install_verify(const Session& session, const InstallOptions& options);

enum class Apply { no, yes };
enum class Wait { for_window, now };
struct GcOptions {
  Apply apply = Apply::no;
  Wait wait = Wait::for_window;
  enum class History { no, yes } history = History::no;
  std::optional<std::uint64_t> max_bytes;
  OutputForm form = OutputForm::text;
  // No option of the command line: a test's clock, and its patience.
  std::function<std::int64_t()> now = &seconds_now;
  PacerPolicy pacer;
};
ExitCode command_gc(const Session& session, const GcOptions& options);

struct ProbeOptions {
  std::string directory;
  enum class Watch { no, yes } watch = Watch::no;
  unsigned samples = 20;
  unsigned interval_ms = 100;
  OutputForm form = OutputForm::text;
};
ExitCode command_probe(const Session& session, const ProbeOptions& options);

ExitCode command_doctor_config(const Session& session, OutputForm form);

// Writes the error and returns its exit code.
ExitCode report_error(const Error& error);
// done, or error where stdout could not take it.
ExitCode write_result(const Rendered& rendered);

}  // namespace pfnm
