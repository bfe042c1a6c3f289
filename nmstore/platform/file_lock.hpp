// Advisory locks on files (flock): they die with their process, so there are no stale ones. The lock order of the
// product, taken in this order and released in any: GC lock, worktree lock, lease, key lock, build slot.
#pragma once

#include <optional>
#include <string>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fd.hpp"
#include "nmstore/platform/fs.hpp"

namespace pfnm {

enum class LockMode { shared, exclusive };
enum class LockState { free, held };

class FileLock {
 public:
  // Waits as long as it takes. The file is made (mode 0600) if it is not there; its directory must exist.
  [[nodiscard]] static Result<FileLock> acquire(const Fs& fs, const std::string& path, LockMode mode);
  // Nothing where somebody else holds it.
  [[nodiscard]] static Result<std::optional<FileLock>> try_acquire(const Fs& fs, const std::string& path,
                                                                   LockMode mode);
  // An exclusive lock on a directory itself, so that nothing has to be written beside it. An error where the file
  // system does not lock directories (NFS).
  [[nodiscard]] static Result<std::optional<FileLock>> try_acquire_directory(const std::string& path);
  // Does anybody hold it? Makes no file; one that is not there is held by nobody.
  [[nodiscard]] static Result<LockState> survey(const std::string& path);
  // For a child that shall keep the lock alive should this process die first.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace pfnm
