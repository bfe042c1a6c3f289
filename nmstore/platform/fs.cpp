#include "nmstore/platform/fs.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "nmstore/platform/os.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

std::string parent_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return {};
  return path.substr(0, slash == 0 ? 1 : slash);
}

std::string temporary_beside(const std::string& path) {
  const auto slash = path.find_last_of('/');
  const std::string directory = slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
  return directory + unique_name(".pfnm-tmp-");
}

// Content by reflink where the file system can, else by copy_file_range, else through a buffer.
int copy_content(int source, int destination, std::uint64_t size, CopiedBy& by) {
  by = CopiedBy::reflink;
  if (os::clone_file(source, destination) == 0) return 0;
  by = CopiedBy::copy;
  std::uint64_t copied = 0;
  if (size > 0 && os::copy_range(source, destination, size, copied) == 0 && copied == size) return 0;
  if (::lseek(source, static_cast<off_t>(copied), SEEK_SET) < 0) return errno;
  std::array<char, 1U << 16U> buffer{};
  while (true) {
    const ssize_t got = ::read(source, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return 0;
    if (const int error = write_all(destination, {buffer.data(), static_cast<std::size_t>(got)}); error != 0)
      return error;
  }
}

}  // namespace

Status Fs::finish(int error, std::string_view operation, const std::string& path) const {
  if (error != 0) return fail_errno(error, operation, path);
  return {};
}

Status Fs::make_dir(int dir, const std::string& path, mode_t mode) const {
  int error = before(Mutation::make_dir, path.c_str());
  if (error == 0 && ::mkdirat(dir, path.c_str(), mode) != 0) error = errno;
  // The umask may have taken bits away; what was asked for is what is made. 0 and 022 take none from 0755.
  if (error == 0 && mode != 0755 && ::fchmodat(dir, path.c_str(), mode, 0) != 0) error = errno;
  return finish(error, "make the directory", path);
}

Status Fs::ensure_dir(int dir, const std::string& path, mode_t mode) const {
  auto made = make_dir(dir, path, mode);
  if (made.has_value() || made.error().sys_errno != EEXIST) return made;
  struct stat st {};
  if (::fstatat(dir, path.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) return {};
  return made;
}

Status Fs::ensure_dirs(const std::string& path, mode_t mode) const {
  struct stat st {};
  if (::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return {};
  if (const std::string parent = parent_of(path); !parent.empty() && parent != path)
    PFNM_TRY(ensure_dirs(parent, mode));
  return ensure_dir(AT_FDCWD, path, mode);
}

Status Fs::make_symlink(const std::string& target, int dir, const std::string& path) const {
  int error = before(Mutation::symlink, path.c_str());
  if (error == 0 && ::symlinkat(target.c_str(), dir, path.c_str()) != 0) error = errno;
  return finish(error, "make the link", path);
}

Status Fs::replace_symlink(const std::string& target, int dir, const std::string& path) const {
  const std::string temporary = temporary_beside(path);
  PFNM_TRY(make_symlink(target, dir, temporary));
  auto renamed = rename(dir, temporary, dir, path);
  if (!renamed.has_value()) std::ignore = ::unlinkat(dir, temporary.c_str(), 0);  // the rename's error is the news
  return renamed;
}

Status Fs::rename(int from_dir, const std::string& from, int to_dir, const std::string& to) const {
  int error = before(Mutation::rename, to.c_str());
  if (error == 0 && ::renameat(from_dir, from.c_str(), to_dir, to.c_str()) != 0) error = errno;
  return finish(error, "rename " + from + " to", to);
}

Status Fs::rename_noreplace(int from_dir, const std::string& from, int to_dir, const std::string& to) const {
  int error = before(Mutation::rename, to.c_str());
  if (error == 0) error = os::rename_noreplace(from_dir, from.c_str(), to_dir, to.c_str());
  return finish(error, "rename " + from + " to", to);
}

Status Fs::exchange(int a_dir, const std::string& a, int b_dir, const std::string& b) const {
  int error = before(Mutation::rename, b.c_str());
  if (error == 0) error = os::rename_exchange(a_dir, a.c_str(), b_dir, b.c_str());
  return finish(error, "exchange " + a + " with", b);
}

Status Fs::unlink(int dir, const std::string& path) const {
  int error = before(Mutation::unlink, path.c_str());
  if (error == 0 && ::unlinkat(dir, path.c_str(), 0) != 0) error = errno;
  return finish(error, "remove", path);
}

Status Fs::remove_dir(int dir, const std::string& path) const {
  int error = before(Mutation::remove_dir, path.c_str());
  if (error == 0 && ::unlinkat(dir, path.c_str(), AT_REMOVEDIR) != 0) error = errno;
  return finish(error, "remove the directory", path);
}

Status Fs::set_mode(int dir, const std::string& path, mode_t mode) const {
  int error = before(Mutation::set_mode, path.c_str());
  if (error == 0 && ::fchmodat(dir, path.c_str(), mode, 0) != 0) error = errno;
  return finish(error, "change the mode of", path);
}

Status Fs::set_mode_of(int fd, const std::string& shown_path, mode_t mode) const {
  int error = before(Mutation::set_mode, shown_path.c_str());
  if (error == 0 && ::fchmod(fd, mode) != 0) error = errno;
  return finish(error, "change the mode of", shown_path);
}

Status Fs::set_mtime(int dir, const std::string& path, std::int64_t mtime_ns) const {
  int error = before(Mutation::set_times, path.c_str());
  std::array<timespec, 2> times{};
  times[0].tv_nsec = UTIME_OMIT;
  times[1].tv_sec = static_cast<time_t>(mtime_ns / 1'000'000'000);
  times[1].tv_nsec = static_cast<long>(mtime_ns % 1'000'000'000);
  if (error == 0 && ::utimensat(dir, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0) error = errno;
  return finish(error, "set the time of", path);
}

Status Fs::create_file(int dir, const std::string& path, std::string_view content, mode_t mode) const {
  int error = before(Mutation::create, path.c_str());
  if (error != 0) return finish(error, "create", path);
  const Fd fd(::openat(dir, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return finish(errno, "create", path);
  error = before(Mutation::write, path.c_str());
  if (error == 0) error = write_all(fd.get(), content);
  if (error == 0 && ::fchmod(fd.get(), mode) != 0) error = errno;
  if (error != 0) std::ignore = ::unlinkat(dir, path.c_str(), 0);  // no half file; the write's error is the news
  return finish(error, "write", path);
}

Status Fs::write_file(int dir, const std::string& path, std::string_view content, mode_t mode, Durable durable) const {
  const std::string temporary = temporary_beside(path);
  PFNM_TRY(create_file(dir, temporary, content, mode));
  int error = 0;
  if (durable == Durable::yes) {
    const Fd fd(::openat(dir, temporary.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) error = errno;
  }
  auto status = error == 0 ? rename(dir, temporary, dir, path) : finish(error, "write", path);
  if (!status.has_value()) std::ignore = ::unlinkat(dir, temporary.c_str(), 0);  // as above
  return status;
}

Result<CopiedBy> Fs::copy_file(int from_dir, const std::string& from, int to_dir, const std::string& to,
                               mode_t mode) const {
  int error = before(Mutation::copy, to.c_str());
  if (error != 0) return fail_errno(error, "copy to", to);
  PFNM_TRY_ASSIGN(const Fd source, open_file_at(from_dir, from));
  PFNM_TRY_ASSIGN(const FileStat st, stat_fd(source.get(), from));
  const Fd destination(::openat(to_dir, to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!destination) return fail_errno(errno, "create", to);
  CopiedBy by = CopiedBy::copy;
  error = copy_content(source.get(), destination.get(), st.size, by);
  if (error == 0 && ::fchmod(destination.get(), mode) != 0) error = errno;
  if (error != 0) {
    std::ignore = ::unlinkat(to_dir, to.c_str(), 0);  // no half file
    return fail_errno(error, "copy to", to);
  }
  return by;
}

Status Fs::clone_file(int from_dir, const std::string& from, int to_dir, const std::string& to) const {
  int error = before(Mutation::copy, to.c_str());
  if (error != 0) return fail_errno(error, "clone to", to);
  PFNM_TRY_ASSIGN(const Fd source, open_file_at(from_dir, from));
  PFNM_TRY_ASSIGN(const FileStat st, stat_fd(source.get(), from));
  const Fd destination(::openat(to_dir, to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!destination) return fail_errno(errno, "create", to);
  // An empty file has no blocks to share, and some file systems refuse to clone it.
  error = st.size == 0 ? 0 : os::clone_file(source.get(), destination.get());
  if (error == 0 && ::fchmod(destination.get(), st.mode & 07777U) != 0) error = errno;
  if (error == 0) return {};
  std::ignore = ::unlinkat(to_dir, to.c_str(), 0);  // no half file
  if (error == EOPNOTSUPP || error == ENOTTY || error == EXDEV || error == EINVAL || error == ENOSYS)
    return fail(Error::make(Errc::unsupported, "clone to", to, "the file system cannot share blocks"));
  return fail_errno(error, "clone to", to);
}

Status Fs::announce(Mutation mutation, const std::string& path) const {
  return finish(before(mutation, path.c_str()), "start", path);
}

namespace {

Status remove_children(const Fs& fs, int dir_fd, std::uint64_t device, const std::string& shown);

Status remove_entry(const Fs& fs, int dir, const std::string& name, std::uint64_t device) {
  PFNM_TRY_ASSIGN(const auto st, find_stat(dir, name));
  if (!st.has_value()) return {};
  if (!st->is_dir()) return fs.unlink(dir, name);
  if (st->dev != device)
    return fail(Error::make(Errc::refused, "remove", name, "it is on another file system (a mount point?)"));
  if ((st->mode & 0700U) != 0700U) PFNM_TRY(fs.set_mode(dir, name, 0700));
  {
    PFNM_TRY_ASSIGN(const Fd child, open_dir_at(dir, name));
    PFNM_TRY(remove_children(fs, child.get(), device, name));
  }
  return fs.remove_dir(dir, name);
}

Status remove_children(const Fs& fs, int dir_fd, std::uint64_t device, const std::string& shown) {
  PFNM_TRY_ASSIGN(const auto entries, list_dir(dir_fd, shown));
  for (const DirEntry& entry : entries) PFNM_TRY(remove_entry(fs, dir_fd, entry.name, device));
  return {};
}

}  // namespace

Status remove_tree(const Fs& fs, int dir, const std::string& name) {
  PFNM_TRY_ASSIGN(const auto st, find_stat(dir, name));
  if (!st.has_value()) return {};
  return remove_entry(fs, dir, name, st->dev);
}

std::string unique_name(std::string_view prefix) {
  static std::atomic<unsigned> counter{0};  // uniqueness within this process only; no state anyone reads
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::string(prefix) + std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1)) + "-" +
         std::to_string(now.tv_nsec);
}

}  // namespace pfnm
