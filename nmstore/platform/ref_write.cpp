#include "nmstore/platform/ref_write.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "nmstore/platform/fd.hpp"

namespace pfnm {

int write_ref_file(const std::string& directory, const std::string& ref, std::string_view value, Durable durable) {
  const std::string path = directory + "/" + ref;
  const std::string lock = path + ".lock";
  int error = 0;
  {
    const Fd fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd) return errno;
    if (::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size())) error = errno;
    if (error == 0 && durable == Durable::yes && ::fsync(fd.get()) != 0) error = errno;
  }
  if (error == 0 && std::rename(lock.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(lock.c_str());
    return error;
  }
  if (durable == Durable::no) return 0;
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0 ? 0 : errno;
}

}  // namespace pfnm
