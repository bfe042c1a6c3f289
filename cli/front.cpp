// `pfnm`: a small static program that answers the usual `link` and every hook with nothing to do itself, and becomes
// pfnm-main for everything else (SPEC 1.1).
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/fast_path.hpp"
#include "cli/render_provision.hpp"
#include "nmstore/platform/os.hpp"

namespace {

using namespace pfnm;

// libexec/pfnm/pfnm-main beside the bin/ that this program is in.
int become_main(char** argv) {
  const auto self = os::self_path();
  std::string path;
  if (self.has_value()) {
    const std::string bin = self->substr(0, self->find_last_of('/'));
    path = bin.substr(0, bin.find_last_of('/')) + "/libexec/pfnm/pfnm-main";
    ::execv(path.c_str(), argv);
  }
  std::ignore = write_rendered(
      render_error(Error::make(Errc::io, "run", path, "pfnm is not installed completely", "install it again")));
  return static_cast<int>(ExitCode::error);
}

// `link [DIRECTORY] [--json]` and nothing else.
struct LinkArguments {
  std::string directory;
  OutputForm form = OutputForm::text;
};
std::optional<LinkArguments> parse_link(const std::vector<std::string_view>& arguments,
                                        const ProcessContext& process) {
  LinkArguments parsed;
  for (const std::string_view argument : arguments) {
    if (argument == "--json") {
      parsed.form = OutputForm::json;
    } else if (!argument.starts_with('-') && parsed.directory.empty()) {
      parsed.directory = argument;
    } else {
      return std::nullopt;
    }
  }
  if (parsed.directory.empty()) parsed.directory = process.directory;
  if (!parsed.directory.starts_with('/')) parsed.directory = process.directory + "/" + parsed.directory;
  return parsed;
}

std::optional<int> serve_link(const std::vector<std::string_view>& arguments, const ProcessContext& process) {
  const auto parsed = parse_link(arguments, process);
  if (!parsed) return std::nullopt;
  const auto outcome = try_fast_link(Fs(), process, parsed->directory, Caller::link);
  if (!outcome.has_value()) {
    std::ignore = write_rendered(render_error(outcome.error()));
    return static_cast<int>(exit_code_of(outcome.error().code));
  }
  if (!*outcome) return std::nullopt;
  const bool written =
      write_rendered(render_provision("link", parsed->form, (*outcome)->report, (*outcome)->not_run));
  return static_cast<int>(written ? ExitCode::done : ExitCode::error);
}

// A hook never fails git's command and never says more than a line (SPEC 5.2).
int serve_hook(const std::vector<std::string_view>& arguments, const ProcessContext& process, char** argv) {
  const bool known = !arguments.empty() && (arguments[0] == "post-checkout" || arguments[0] == "post-merge" ||
                                            arguments[0] == "post-rewrite");
  if (!known) return become_main(argv);
  if (process.variable("PF_NM_MODE") == "off") return 0;
  if (survey_nothing_to_do(process, process.directory) == NothingToDo::yes) return 0;
  const auto outcome = try_fast_link(Fs(), process, process.directory, Caller::hook);
  if (outcome.has_value() && *outcome) {
    const ProvisionReport& report = (*outcome)->report;
    if (report.action != Action::unchanged)
      std::ignore = write_rendered({"", render_provision("link", OutputForm::text, report, {}).out});
    return 0;
  }
  return become_main(argv);
}

}  // namespace

int main(int argc, char** argv) {
  ::umask(022);
  const ProcessContext process = survey_process(environ);
  const std::vector<std::string_view> arguments(argv + (argc > 2 ? 2 : argc), argv + argc);
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "hook") return serve_hook(arguments, process, argv);
  if (verb == "link")
    if (const auto code = serve_link(arguments, process)) return *code;
  return become_main(argv);
}
