#include "nmstore/platform/read.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include "nmstore/platform/os.hpp"

namespace pfnm {
namespace {

FileStat from_stat(const struct stat& st) {
  FileStat out;
  out.dev = static_cast<std::uint64_t>(st.st_dev);
  out.ino = static_cast<std::uint64_t>(st.st_ino);
  out.mode = st.st_mode;
  out.uid = st.st_uid;
  out.nlink = static_cast<std::uint64_t>(st.st_nlink);
  out.size = static_cast<std::uint64_t>(st.st_size);
  out.blocks = static_cast<std::uint64_t>(st.st_blocks);
  out.mtime_ns = os::mtime_ns(st);
  out.ctime_ns = os::ctime_ns(st);
  return out;
}

bool is_absent(int error) { return error == ENOENT || error == ENOTDIR; }

FileType type_of_mode(mode_t mode) {
  if (S_ISREG(mode)) return FileType::regular;
  if (S_ISDIR(mode)) return FileType::directory;
  if (S_ISLNK(mode)) return FileType::symlink;
  return FileType::other;
}

FileType type_of_entry(int dir_fd, const dirent& entry) {
  switch (entry.d_type) {
    case DT_REG:
      return FileType::regular;
    case DT_DIR:
      return FileType::directory;
    case DT_LNK:
      return FileType::symlink;
    case DT_UNKNOWN: {
      struct stat st {};
      if (::fstatat(dir_fd, entry.d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) return type_of_mode(st.st_mode);
      return FileType::other;
    }
    default:
      return FileType::other;
  }
}

}  // namespace

FileType FileStat::type() const { return type_of_mode(static_cast<mode_t>(mode)); }

Result<FileStat> stat_at(int dir, const std::string& path) {
  struct stat st {};
  if (::fstatat(dir, path.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return fail_errno(errno, "stat", path);
  return from_stat(st);
}

Result<std::optional<FileStat>> find_stat(int dir, const std::string& path) {
  struct stat st {};
  if (::fstatat(dir, path.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    const int saved = errno;
    if (is_absent(saved)) return std::optional<FileStat>{};
    return fail_errno(saved, "stat", path);
  }
  return std::optional<FileStat>{from_stat(st)};
}

Result<FileStat> stat_fd(int fd, const std::string& shown_path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return fail_errno(errno, "stat", shown_path);
  return from_stat(st);
}

Result<std::string> read_link_at(int dir, const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(dir, path.c_str(), target.data(), target.size());
  if (length < 0) return fail_errno(errno, "read the link", path);
  target.resize(static_cast<std::size_t>(length));
  return target;
}

Result<Fd> open_dir_at(int dir, const std::string& path) {
  Fd fd(::openat(dir, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open the directory", path);
  return fd;
}

Result<Fd> open_file_at(int dir, const std::string& path) {
  // O_NONBLOCK: a FIFO put in place of a file must not hang us; it means nothing for a regular file.
  Fd fd(::openat(dir, path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(errno, "open", path);
  return fd;
}

Result<std::string> read_all(int fd, const std::string& shown_path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return fail_errno(errno, "stat", shown_path);
  if (S_ISDIR(st.st_mode)) return fail_errno(EISDIR, "read", shown_path);
  std::string text;
  std::size_t used = 0;
  text.resize(static_cast<std::size_t>(st.st_size) + 1);
  while (true) {
    if (used == text.size()) text.resize(text.size() * 2);
    const ssize_t got = ::read(fd, text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read", shown_path);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > k_max_text) return fail_errno(EFBIG, "read", shown_path);
  }
  text.resize(used);
  return text;
}

Result<std::string> read_file(int dir, const std::string& path) {
  PFNM_TRY_ASSIGN(const Fd fd, open_file_at(dir, path));
  return read_all(fd.get(), path);
}

Result<std::optional<std::string>> find_file(int dir, const std::string& path) {
  auto fd = open_file_at(dir, path);
  if (!fd.has_value()) {
    if (is_absent(fd.error().sys_errno)) return std::optional<std::string>{};
    return fail(fd.error());
  }
  PFNM_TRY_ASSIGN(std::string text, read_all(fd->get(), path));
  return std::optional<std::string>{std::move(text)};
}

Result<std::vector<DirEntry>> list_dir(int dir_fd, const std::string& shown_path) {
  // fdopendir takes the descriptor over and moves its offset; a second open file description keeps the caller's alone.
  const int own = ::openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return fail_errno(errno, "open the directory", shown_path);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own), &::closedir);
  if (!stream) return fail_errno(errno, "read the directory", shown_path);
  std::vector<DirEntry> entries;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return fail_errno(errno, "read the directory", shown_path);
      break;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back({std::string(name), type_of_entry(own, *entry)});
  }
  std::sort(entries.begin(), entries.end(), [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
  return entries;
}

Result<std::vector<DirEntry>> list_dir_at(int dir, const std::string& path) {
  PFNM_TRY_ASSIGN(const Fd fd, open_dir_at(dir, path));
  return list_dir(fd.get(), path);
}

Result<MappedFile> MappedFile::open(int dir, const std::string& path) {
  PFNM_TRY_ASSIGN(const Fd fd, open_file_at(dir, path));
  PFNM_TRY_ASSIGN(const FileStat st, stat_fd(fd.get(), path));
  if (!st.is_regular()) return fail_errno(EINVAL, "map", path);
  MappedFile file;
  file.size_ = st.size;
  if (file.size_ == 0) return file;
  void* const address = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) return fail_errno(errno, "map", path);
  file.address_ = address;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

Result<VolumeSpace> volume_space(const std::string& path) {
  struct statvfs vfs {};
  if (::statvfs(path.c_str(), &vfs) != 0) return fail_errno(errno, "ask for free space at", path);
  VolumeSpace space;
  space.available_bytes = static_cast<std::uint64_t>(vfs.f_bavail) * vfs.f_frsize;
  space.available_inodes = vfs.f_favail;
  space.total_inodes = vfs.f_files;
  space.used_bytes = static_cast<std::uint64_t>(vfs.f_blocks - vfs.f_bfree) * vfs.f_frsize;
  return space;
}

unsigned VolumeSpace::used_percent() const {
  const std::uint64_t whole = used_bytes + available_bytes;
  return whole == 0 ? 0 : static_cast<unsigned>((used_bytes * 100 + whole - 1) / whole);
}

Result<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  if (!resolved) return fail_errno(errno, "resolve", path);
  return std::string(resolved.get());
}

}  // namespace pfnm
