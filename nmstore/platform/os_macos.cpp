// Never run: type-checked only (README, limits).
#include <fcntl.h>
#include <mach-o/dyld.h>
#include <sys/clonefile.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stdio.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <copyfile.h>

#include "nmstore/platform/os.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm::os {

int rename_noreplace(int from_dir, const char* from, int to_dir, const char* to) {
  return ::renameatx_np(from_dir, from, to_dir, to, RENAME_EXCL) == 0 ? 0 : errno;
}

int rename_exchange(int from_dir, const char* from, int to_dir, const char* to) {
  return ::renameatx_np(from_dir, from, to_dir, to, RENAME_SWAP) == 0 ? 0 : errno;
}

int clone_file(int source, int destination) {
  return ::fcopyfile(source, destination, nullptr, COPYFILE_CLONE_FORCE | COPYFILE_DATA) == 0 ? 0 : errno;
}

int copy_range(int source, int destination, std::uint64_t size, std::uint64_t& copied) {
  copied = 0;
  if (::fcopyfile(source, destination, nullptr, COPYFILE_DATA) != 0) return errno;
  copied = size;
  return 0;
}

int start_writeback(int) { return 0; }

Debt debt_of(int) { return Debt::pay_at_once; }

int sync_file_system(int fd) { return ::fcntl(fd, F_FULLFSYNC) == 0 ? 0 : errno; }

std::int64_t mtime_ns(const struct stat& st) {
  return st.st_mtimespec.tv_sec * 1'000'000'000LL + st.st_mtimespec.tv_nsec;
}
std::int64_t ctime_ns(const struct stat& st) {
  return st.st_ctimespec.tv_sec * 1'000'000'000LL + st.st_ctimespec.tv_nsec;
}

std::string boot_id() {
  timeval boot{};
  std::size_t size = sizeof(boot);
  if (::sysctlbyname("kern.boottime", &boot, &size, nullptr, 0) != 0) return {};
  return std::to_string(boot.tv_sec) + "." + std::to_string(boot.tv_usec);
}

Result<std::string> self_path() {
  std::array<char, PATH_MAX> path{};
  auto size = static_cast<std::uint32_t>(path.size());
  if (::_NSGetExecutablePath(path.data(), &size) != 0) return fail_errno(ENAMETOOLONG, "find", "this program");
  return real_path(path.data());
}

Result<Identity> identity_of(const std::string& path) {
  struct stat st {};
  struct statfs fs {};
  if (::stat(path.c_str(), &st) != 0) return fail_errno(errno, "stat", path);
  if (::statfs(path.c_str(), &fs) != 0) return fail_errno(errno, "stat the volume of", path);
  Identity identity;
  identity.volume = "fsid:" + std::to_string(fs.f_fsid.val[0]) + "." + std::to_string(fs.f_fsid.val[1]);
  identity.dev = static_cast<std::uint64_t>(st.st_dev);
  identity.ino = st.st_ino;
  identity.birth_ns = st.st_birthtimespec.tv_sec * 1'000'000'000LL + st.st_birthtimespec.tv_nsec;
  return identity;
}

int open_dir_beneath(int dir, const char* name, int& out) {
  struct stat parent {};
  struct stat child {};
  out = ::openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (out < 0) return errno;
  int error = ::fstat(dir, &parent) != 0 ? errno : 0;
  if (error == 0) error = ::fstat(out, &child) != 0 ? errno : 0;
  if (error == 0 && parent.st_dev != child.st_dev) error = EXDEV;
  if (error != 0) ::close(out);
  return error;
}

void lower_io_priority() { std::ignore = ::setiopolicy_np(IOPOL_TYPE_DISK, IOPOL_SCOPE_PROCESS, IOPOL_THROTTLE); }

void become_background() { std::ignore = ::setpriority(PRIO_DARWIN_PROCESS, 0, PRIO_DARWIN_BG); }

}  // namespace pfnm::os
