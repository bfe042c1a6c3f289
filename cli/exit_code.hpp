// Exit codes of every verb (SPEC 1.3).
#pragma once

#include "nmstore/base/error.hpp"

namespace pfnm {

enum class ExitCode {
  done = 0,
  error = 1,
  usage = 2,
  blind = 3,
  partly_blind = 4,
  stalled = 5,
  refused = 6,
  busy = 7,
};

[[nodiscard]] inline ExitCode exit_code_of(Errc code) {
  switch (code) {
    case Errc::usage:
      return ExitCode::usage;
    case Errc::refused:
      return ExitCode::refused;
    case Errc::busy:
      return ExitCode::busy;
    case Errc::not_found:
    case Errc::already_exists:
    case Errc::not_permitted:
    case Errc::no_space:
    case Errc::cross_device:
    case Errc::read_only:
    case Errc::corrupt:
    case Errc::bad_input:
    case Errc::foreign:
    case Errc::unsupported:
    case Errc::failed_child:
    case Errc::io:
      break;
  }
  return ExitCode::error;
}

}  // namespace pfnm
