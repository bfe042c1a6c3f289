#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "nmstore/platform/fd.hpp"
#include "nmstore/platform/os.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm::os {
namespace {

std::string hex(const unsigned char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", static_cast<unsigned>(bytes[i]));
    text += two.data();
  }
  return text;
}

// FS_IOC_GETFSUUID, Linux 6.9; Debian 12's headers do not have it yet.
struct FsUuid {
  unsigned char length;
  unsigned char uuid[16];  // NOLINT: kernel layout
};
constexpr unsigned long k_get_fs_uuid = _IOR(0x15, 0, FsUuid);

std::string volume_of(int fd) {
  FsUuid uuid{};
  if (::ioctl(fd, k_get_fs_uuid, &uuid) == 0 && uuid.length == 16) return "uuid:" + hex(uuid.uuid, 16);
  struct statfs fs {};
  if (::fstatfs(fd, &fs) != 0) return {};
  std::array<unsigned char, sizeof(fs.f_fsid)> id{};
  std::memcpy(id.data(), &fs.f_fsid, id.size());
  return "fsid:" + hex(id.data(), id.size());
}

}  // namespace

int rename_noreplace(int from_dir, const char* from, int to_dir, const char* to) {
  return ::renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

int rename_exchange(int from_dir, const char* from, int to_dir, const char* to) {
  return ::renameat2(from_dir, from, to_dir, to, RENAME_EXCHANGE) == 0 ? 0 : errno;
}

int clone_file(int source, int destination) { return ::ioctl(destination, FICLONE, source) == 0 ? 0 : errno; }

int copy_range(int source, int destination, std::uint64_t size, std::uint64_t& copied) {
  copied = 0;
  while (copied < size) {
    const ssize_t got = ::copy_file_range(source, nullptr, destination, nullptr, size - copied, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    copied += static_cast<std::uint64_t>(got);
  }
  return 0;
}

int start_writeback(int fd) { return ::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) == 0 ? 0 : errno; }

Debt debt_of(int fd) {
  constexpr auto k_xfs = 0x58465342;  // XFS_SUPER_MAGIC
  struct statfs fs {};
  return ::fstatfs(fd, &fs) == 0 && fs.f_type == k_xfs ? Debt::pays_by_itself : Debt::pay_at_once;
}

int sync_file_system(int fd) { return ::syncfs(fd) == 0 ? 0 : errno; }

std::int64_t mtime_ns(const struct stat& st) { return st.st_mtim.tv_sec * 1'000'000'000LL + st.st_mtim.tv_nsec; }
std::int64_t ctime_ns(const struct stat& st) { return st.st_ctim.tv_sec * 1'000'000'000LL + st.st_ctim.tv_nsec; }

std::string boot_id() {
  auto text = read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id");
  if (!text.has_value()) return {};
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return *text;
}

Result<std::string> self_path() { return read_link_at(AT_FDCWD, "/proc/self/exe"); }

Result<Identity> identity_of(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!fd) return fail_errno(errno, "open", path);
  struct statx stx {};
  if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &stx) != 0) return fail_errno(errno, "stat", path);
  PFNM_TRY_ASSIGN(const FileStat st, stat_fd(fd.get(), path));
  Identity identity;
  identity.volume = volume_of(fd.get());
  identity.dev = st.dev;
  identity.ino = st.ino;
  if ((stx.stx_mask & STATX_BTIME) != 0) {
    identity.birth_ns = static_cast<std::int64_t>(stx.stx_btime.tv_sec) * 1'000'000'000LL + stx.stx_btime.tv_nsec;
  }
  return identity;
}

int open_dir_beneath(int dir, const char* name, int& out) {
  constexpr int k_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  open_how how{};
  how.flags = k_flags;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
  out = static_cast<int>(::syscall(SYS_openat2, dir, name, &how, sizeof(how)));
  if (out >= 0) return 0;
  if (errno != ENOSYS && errno != EPERM) return errno;
  // Linux before 5.6, or a sandbox that does not know the call: a mount shows as another device or, where it is a bind
  // mount of the same one, by its attribute (5.8).
  struct statx parent {};
  if (::statx(dir, "", AT_EMPTY_PATH, STATX_TYPE, &parent) != 0) return errno;
  const auto crosses = [&](int at, const char* path, int flags) {
    struct statx child {};
    if (::statx(at, path, flags, STATX_TYPE, &child) != 0) return errno;
    const bool crossed = parent.stx_dev_major != child.stx_dev_major || parent.stx_dev_minor != child.stx_dev_minor ||
                         (child.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    return crossed ? EXDEV : 0;
  };
  // By name first: what is mounted there may not be readable, and EACCES is where the caller changes the mode.
  if (const int error = crosses(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT); error != 0) return error;
  out = ::openat(dir, name, k_flags);
  if (out < 0) return errno;
  const int error = crosses(out, "", AT_EMPTY_PATH);
  if (error != 0) ::close(out);
  return error;
}

void lower_io_priority() {
  // ioprio_set(IOPRIO_WHO_PROCESS, 0, IOPRIO_CLASS_IDLE << 13): glibc has no wrapper.
  std::ignore = ::syscall(SYS_ioprio_set, 1, 0, 3 << 13);
}

void become_background() {
  lower_io_priority();
  std::ignore = ::setpriority(PRIO_PROCESS, 0, 19);
}

}  // namespace pfnm::os
