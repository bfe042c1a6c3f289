#include "nmstore/platform/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

Result<Fd> open_lock_file(const Fs& fs, const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (fd) return fd;
  if (errno != ENOENT) return fail_errno(errno, "open the lock", path);
  PFNM_TRY(fs.announce(Mutation::create, path));
  fd = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(errno, "create the lock", path);
  return fd;
}

// Between open and flock the file may have been replaced or removed; a lock on a file nobody can find is no lock.
bool still_named(const Fd& fd, const std::string& path) {
  const auto by_fd = stat_fd(fd.get(), path);
  const auto by_name = stat_at(AT_FDCWD, path);
  return by_fd.has_value() && by_name.has_value() && by_fd->ino == by_name->ino && by_fd->dev == by_name->dev;
}

}  // namespace

Result<std::optional<FileLock>> FileLock::try_acquire(const Fs& fs, const std::string& path, LockMode mode) {
  while (true) {
    PFNM_TRY_ASSIGN(Fd fd, open_lock_file(fs, path));
    if (::flock(fd.get(), (mode == LockMode::shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
      const int saved = errno;
      if (saved == EWOULDBLOCK) return std::optional<FileLock>{};
      if (saved == EINTR) continue;
      return fail_errno(saved, "lock", path);
    }
    if (still_named(fd, path)) return std::optional<FileLock>{FileLock(std::move(fd))};
  }
}

Result<std::optional<FileLock>> FileLock::try_acquire_directory(const std::string& path) {
  PFNM_TRY_ASSIGN(Fd fd, open_dir_at(AT_FDCWD, path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    const int saved = errno;
    if (saved == EWOULDBLOCK) return std::optional<FileLock>{};
    return fail_errno(saved, "lock", path);
  }
  return std::optional<FileLock>{FileLock(std::move(fd))};
}

Result<LockState> FileLock::survey(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT) return LockState::free;
  if (!fd) return fail_errno(errno, "open the lock", path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return LockState::free;  // let go when `fd` is closed
  if (errno == EWOULDBLOCK) return LockState::held;
  return fail_errno(errno, "ask for the lock", path);
}

Result<FileLock> FileLock::acquire(const Fs& fs, const std::string& path, LockMode mode) {
  while (true) {
    PFNM_TRY_ASSIGN(Fd fd, open_lock_file(fs, path));
    while (::flock(fd.get(), mode == LockMode::shared ? LOCK_SH : LOCK_EX) != 0) {
      const int saved = errno;
      if (saved != EINTR) return fail_errno(saved, "lock", path);
    }
    if (still_named(fd, path)) return FileLock(std::move(fd));
  }
}

}  // namespace pfnm
