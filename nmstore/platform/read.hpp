// Reading the file system. Nothing here follows a symbolic link in the last component, and nothing changes anything.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fd.hpp"

namespace pfnm {

enum class FileType : std::uint8_t { regular = 0, directory = 1, symlink = 2, other = 3 };

// What lstat says. Times are nanoseconds since the epoch.
struct FileStat {
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::uint32_t mode = 0;  // with the type bits
  std::uint32_t uid = 0;
  std::uint64_t nlink = 0;
  std::uint64_t size = 0;
  std::uint64_t blocks = 0;  // of 512 bytes
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;

  [[nodiscard]] FileType type() const;
  [[nodiscard]] bool is_dir() const { return type() == FileType::directory; }
  [[nodiscard]] bool is_symlink() const { return type() == FileType::symlink; }
  [[nodiscard]] bool is_regular() const { return type() == FileType::regular; }
};

struct DirEntry {
  std::string name;
  FileType type = FileType::other;  // asked for with lstat where the file system does not say
};

// `dir` is a directory descriptor or AT_FDCWD everywhere below.
[[nodiscard]] Result<FileStat> stat_at(int dir, const std::string& path);
// Nothing where it does not exist (ENOENT, ENOTDIR); an error where that cannot be told.
[[nodiscard]] Result<std::optional<FileStat>> find_stat(int dir, const std::string& path);
[[nodiscard]] Result<FileStat> stat_fd(int fd, const std::string& shown_path);
[[nodiscard]] Result<std::string> read_link_at(int dir, const std::string& path);
[[nodiscard]] Result<Fd> open_dir_at(int dir, const std::string& path);
[[nodiscard]] Result<Fd> open_file_at(int dir, const std::string& path);
// The whole file; at most `k_max_text` bytes, more is an error: none of the files read this way is larger.
inline constexpr std::uint64_t k_max_text = 256U << 20U;
[[nodiscard]] Result<std::string> read_file(int dir, const std::string& path);
[[nodiscard]] Result<std::optional<std::string>> find_file(int dir, const std::string& path);
[[nodiscard]] Result<std::string> read_all(int fd, const std::string& shown_path);
// Sorted by name (byte order). Takes no ownership of `dir_fd`.
[[nodiscard]] Result<std::vector<DirEntry>> list_dir(int dir_fd, const std::string& shown_path);
[[nodiscard]] Result<std::vector<DirEntry>> list_dir_at(int dir, const std::string& path);

// A read-only mapping of a whole file. Move-only; the view lives as long as this does.
class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> open(int dir, const std::string& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(address_), size_}; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

struct VolumeSpace {
  std::uint64_t available_bytes = 0;   // to an unprivileged process
  std::uint64_t available_inodes = 0;  // meaningless where total_inodes is 0
  std::uint64_t total_inodes = 0;
  std::uint64_t used_bytes = 0;
  // As df says it: used / (used + available), rounded up.
  [[nodiscard]] unsigned used_percent() const;
};
[[nodiscard]] Result<VolumeSpace> volume_space(const std::string& path);

// Absolute, symbolic links resolved.
[[nodiscard]] Result<std::string> real_path(const std::string& path);

}  // namespace pfnm
