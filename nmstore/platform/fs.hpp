// Changing the file system. Every change pfnm makes itself goes through this class, so that a test can stop the program
// (SIGKILL) or the disk (ENOSPC, EIO, ...) at each of them in turn: the mutation hook. Without a hook it costs one
// comparison with null. Reading is in read.hpp.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fd.hpp"

namespace pfnm {

enum class Mutation {
  make_dir,
  symlink,
  rename,
  unlink,
  remove_dir,
  create,
  write,
  set_mode,
  set_times,
  copy,
  spawn,
};

// Called before each change. Returns 0 to let it happen, or the errno it shall fail with.
class MutationHook {
 public:
  virtual ~MutationHook() = default;
  virtual int before(Mutation mutation, const char* path) = 0;
};

enum class Durable { no, yes };  // yes: the file's content reaches the device before its name does
enum class CopiedBy { reflink, copy };

class Fs {
 public:
  explicit Fs(MutationHook* hook = nullptr) : hook_(hook) {}

  // `dir` is a directory descriptor or AT_FDCWD. The mode is exact: the umask does not apply.
  Status make_dir(int dir, const std::string& path, mode_t mode = 0755) const;
  // Fine where a directory is there already. The mode of an existing one is not changed.
  Status ensure_dir(int dir, const std::string& path, mode_t mode = 0755) const;
  Status ensure_dirs(const std::string& path, mode_t mode = 0755) const;  // mkdir -p
  Status make_symlink(const std::string& target, int dir, const std::string& path) const;
  // A new link under a temporary name, renamed over `path`: readers see the old or the new one, never none.
  Status replace_symlink(const std::string& target, int dir, const std::string& path) const;
  Status rename(int from_dir, const std::string& from, int to_dir, const std::string& to) const;
  Status rename_noreplace(int from_dir, const std::string& from, int to_dir, const std::string& to) const;
  Status exchange(int a_dir, const std::string& a, int b_dir, const std::string& b) const;
  Status unlink(int dir, const std::string& path) const;
  Status remove_dir(int dir, const std::string& path) const;
  Status set_mode(int dir, const std::string& path, mode_t mode) const;  // never on a symlink
  Status set_mode_of(int fd, const std::string& shown_path, mode_t mode) const;
  Status set_mtime(int dir, const std::string& path, std::int64_t mtime_ns) const;
  // Fails with EEXIST where the name is taken.
  Status create_file(int dir, const std::string& path, std::string_view content, mode_t mode = 0644) const;
  // Written under a temporary name beside it, renamed into place; a crash leaves the old content.
  Status write_file(int dir, const std::string& path, std::string_view content, mode_t mode = 0644,
                    Durable durable = Durable::no) const;
  // A regular file's content (and nothing else) into a new file of mode `mode`.
  Result<CopiedBy> copy_file(int from_dir, const std::string& from, int to_dir, const std::string& to,
                             mode_t mode) const;
  // As copy_file, with the source's mode, but only where the two can share blocks (Errc::unsupported elsewhere).
  Status clone_file(int from_dir, const std::string& from, int to_dir, const std::string& to) const;
  // For changes made elsewhere (a child process): the hook sees them too.
  Status announce(Mutation mutation, const std::string& path) const;

 private:
  [[nodiscard]] int before(Mutation mutation, const char* path) const {
    return hook_ == nullptr ? 0 : hook_->before(mutation, path);
  }
  Status finish(int error, std::string_view operation, const std::string& path) const;

  MutationHook* hook_;
};

// Deletes `name` below `dir` and all it holds: follows no link, crosses no device, gives directories their write bit
// back where that is what stands in the way. For small trees of our own making (staging, layouts of links); bulk
// deletion of installs goes through the paced remover.
Status remove_tree(const Fs& fs, int dir, const std::string& name);

// A name nobody else uses: `prefix` + process id + a counter + the clock's nanoseconds.
[[nodiscard]] std::string unique_name(std::string_view prefix);

}  // namespace pfnm
