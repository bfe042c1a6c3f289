#include "cli/commands.hpp"

namespace pfnm {

ExitCode report_error(const Error& error) {
  std::ignore = write_rendered(render_error(error));  // stderr is where we would say that this failed
  return exit_code_of(error.code);
}

ExitCode write_result(const Rendered& rendered) {
  return write_rendered(rendered) ? ExitCode::done : ExitCode::error;
}

}  // namespace pfnm
