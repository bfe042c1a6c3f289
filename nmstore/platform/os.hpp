// What differs between operating systems, one .cpp per system behind it (os_linux.cpp, os_macos.cpp). Raw: returns 0 or
// an errno, so that the callers' one place (fs.cpp) turns it into an Error.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "nmstore/base/result.hpp"

namespace pfnm::os {

// rename(2) that fails with EEXIST instead of replacing.
[[nodiscard]] int rename_noreplace(int from_dir, const char* from, int to_dir, const char* to);
// Swaps two existing names atomically.
[[nodiscard]] int rename_exchange(int from_dir, const char* from, int to_dir, const char* to);
// Makes `destination` share the blocks of `source` (FICLONE). EOPNOTSUPP, EXDEV or EINVAL where that is not possible.
[[nodiscard]] int clone_file(int source, int destination);
// In-kernel copy of up to `size` bytes from the current offsets; returns the errno, and the bytes copied in `copied`.
[[nodiscard]] int copy_range(int source, int destination, std::uint64_t size, std::uint64_t& copied);

// Starts writing a file's dirty pages without waiting for them (no journal commit).
[[nodiscard]] int start_writeback(int fd);
// Everything written to the file system of `fd` reaches the device.
[[nodiscard]] int sync_file_system(int fd);

// Does deleting on this file system leave a debt that is better paid at once? Not on XFS: it frees inodes in the background,
// a few at a time, and being asked to hurry makes everybody wait (docs/decisions/0008).
enum class Debt { pays_by_itself, pay_at_once };
[[nodiscard]] Debt debt_of(int fd);

// Times as nanoseconds since the epoch.
[[nodiscard]] std::int64_t mtime_ns(const struct stat& st);
[[nodiscard]] std::int64_t ctime_ns(const struct stat& st);

// Changes with each boot. Empty where it cannot be told.
[[nodiscard]] std::string boot_id();
// The path of the running program, links resolved.
[[nodiscard]] Result<std::string> self_path();

// Who a directory is, beyond its path: survives remounts, unlike the device number.
struct Identity {
  std::string volume;        // "uuid:..." or "fsid:..."; empty: not known
  std::uint64_t dev = 0;     // within one boot only
  std::uint64_t ino = 0;
  std::int64_t birth_ns = 0; // 0: the file system does not record it
};
[[nodiscard]] Result<Identity> identity_of(const std::string& path);

// Opens a directory below `dir` for reading it: no link, and no mount point, not even one of the same file system. `out`
// is the descriptor. ELOOP or ENOTDIR for a link, EXDEV for something mounted there.
[[nodiscard]] int open_dir_beneath(int dir, const char* name, int& out);

// The lowest I/O priority for this process; best effort.
void lower_io_priority();
// The lowest I/O and CPU priority for this process; best effort.
void become_background();

}  // namespace pfnm::os
