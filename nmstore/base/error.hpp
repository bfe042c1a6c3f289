// Errors are values. Every failing operation below cli/ returns one of these; nothing throws on purpose.
#pragma once

#include <string>
#include <string_view>

namespace pfnm {

// What kind of failure it was, as far as a caller can act on it.
enum class Errc {
  not_found,
  already_exists,
  not_permitted,
  busy,            // another pfnm holds the lock
  no_space,
  cross_device,
  read_only,
  corrupt,         // a file of ours does not hold what it must
  bad_input,       // a file of the user's cannot be used (lock, package.json, ...)
  foreign,         // something is in the way that pfnm did not make
  refused,         // a guard says no
  unsupported,
  failed_child,    // npm, node, git or patch-package failed
  usage,
  io,
};

// An error as the user will read it: `operation path: reason (hint)`.
// `sys_errno` is 0 where no system call failed. The integer is a parameter of from_errno on purpose: it must be
// saved before anything else is called.
struct Error {
  Errc code = Errc::io;
  int sys_errno = 0;
  std::string operation;  // "open", "build the install", ...
  std::string path;       // what it was about; may be empty
  std::string reason;     // why; empty: strerror(sys_errno)
  std::string hint;       // what to do next; may be empty

  static Error from_errno(int saved_errno, std::string_view operation, std::string_view path);
  static Error make(Errc code, std::string_view operation, std::string_view path, std::string_view reason,
                    std::string_view hint = {});

  // One or two lines, without a trailing newline: "cannot <operation> <path>: <reason>" and "  <hint>".
  [[nodiscard]] std::string message() const;
};

[[nodiscard]] Errc errc_from_errno(int saved_errno);

}  // namespace pfnm
