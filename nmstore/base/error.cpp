#include "nmstore/base/error.hpp"

#include <cerrno>
#include <cstring>

namespace pfnm {

Errc errc_from_errno(int saved_errno) {
  switch (saved_errno) {
    case ENOENT:
    case ENOTDIR:
      return Errc::not_found;
    case EEXIST:
    case ENOTEMPTY:
      return Errc::already_exists;
    case EACCES:
    case EPERM:
      return Errc::not_permitted;
    case ENOSPC:
    case EDQUOT:
      return Errc::no_space;
    case EXDEV:
      return Errc::cross_device;
    case EROFS:
      return Errc::read_only;
    case EWOULDBLOCK:
      return Errc::busy;
    default:
      return Errc::io;
  }
}

Error Error::from_errno(int saved_errno, std::string_view operation, std::string_view path) {
  Error error;
  error.code = errc_from_errno(saved_errno);
  error.sys_errno = saved_errno;
  error.operation = operation;
  error.path = path;
  return error;
}

Error Error::make(Errc code, std::string_view operation, std::string_view path, std::string_view reason,
                  std::string_view hint) {
  Error error;
  error.code = code;
  error.operation = operation;
  error.path = path;
  error.reason = reason;
  error.hint = hint;
  return error;
}

std::string Error::message() const {
  std::string text = "cannot " + operation;
  if (!path.empty()) text += " " + path;
  text += ": ";
  text += reason.empty() ? std::string(std::strerror(sys_errno)) : reason;
  if (!hint.empty()) text += "\n  " + hint;
  return text;
}

}  // namespace pfnm
