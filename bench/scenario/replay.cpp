// The floor under `pfnm link`: the system calls that any layout of the same links needs, and nothing else. It checks
// nothing, locks nothing, records nothing and could not be resumed.
//
// usage: bench_replay SCRIPT DIRECTORY     (without arguments: does nothing, the floor under any program)
// The script is a row of NUL-terminated fields: "D" path | "L" path target | "C" path source. Paths are relative to
// DIRECTORY, sources absolute.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

constexpr std::size_t k_path_size = 4096;

[[noreturn]] void give_up(const char* what) {
  const char* const parts[] = {"bench_replay: cannot ", what, "\n"};
  for (const char* part : parts)
    if (::write(2, part, std::strlen(part)) < 0) break;
  ::_exit(1);
}

void copy_file(const char* from, const char* to, mode_t mode) {
  const int source = ::open(from, O_RDONLY | O_CLOEXEC);
  const int destination = ::open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (source < 0 || destination < 0) give_up(to);
  while (true) {
    const ssize_t got = ::copy_file_range(source, nullptr, destination, nullptr, std::size_t{1} << 30U, 0);
    if (got < 0) give_up(from);
    if (got == 0) break;
  }
  ::close(source);
  ::close(destination);
}

void join(char* out, const char* directory, const char* name) {
  const std::size_t length = std::strlen(directory);
  const std::size_t name_length = std::strlen(name);
  if (length + name_length + 2 > k_path_size) give_up(name);
  std::memcpy(out, directory, length);
  out[length] = '/';
  std::memcpy(out + length + 1, name, name_length + 1);
}

void copy_tree(const char* from, const char* to) {
  struct stat st {};
  if (::lstat(from, &st) != 0) give_up(from);
  std::array<char, k_path_size> link{};
  if (S_ISLNK(st.st_mode)) {
    if (::readlink(from, link.data(), link.size() - 1) < 0 || ::symlink(link.data(), to) != 0) give_up(to);
    return;
  }
  if (S_ISREG(st.st_mode)) return copy_file(from, to, (st.st_mode & 0777U) | 0200U);
  if (::mkdir(to, (st.st_mode & 0777U) | 0200U) != 0) give_up(to);
  DIR* const directory = ::opendir(from);
  if (directory == nullptr) give_up(from);
  while (const dirent* entry = ::readdir(directory)) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    std::array<char, k_path_size> source{};
    std::array<char, k_path_size> destination{};
    join(source.data(), from, entry->d_name);
    join(destination.data(), to, entry->d_name);
    copy_tree(source.data(), destination.data());
  }
  ::closedir(directory);
}

const char* next_field(const char*& at, const char* end) {
  const char* const field = at;
  const void* const nul = std::memchr(at, 0, static_cast<std::size_t>(end - at));
  if (nul == nullptr) give_up("read the script");
  at = static_cast<const char*>(nul) + 1;
  return field;
}

// Names are made relative to their directory's descriptor, as the product does: a long path is walked once.
class Place {
 public:
  // The name in `path`, with its directory open.
  const char* enter(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    if (slash == nullptr) {
      fd_ = AT_FDCWD;
      open_.front() = '\0';
      return path;
    }
    const auto length = static_cast<std::size_t>(slash - path);
    if (length >= open_.size()) give_up(path);
    if (std::strncmp(open_.data(), path, length) == 0 && open_[length] == '\0') return slash + 1;
    if (fd_ >= 0) ::close(fd_);
    std::memcpy(open_.data(), path, length);
    open_[length] = '\0';
    fd_ = ::open(open_.data(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd_ < 0) give_up(open_.data());
    return slash + 1;
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  std::array<char, k_path_size> open_{};
  int fd_ = AT_FDCWD;
};

void replay(const char* at, const char* end) {
  Place place;
  while (at != end) {
    const char operation = *next_field(at, end);
    const char* const path = next_field(at, end);
    if (operation == 'D') {
      const char* const name = place.enter(path);
      if (::mkdirat(place.fd(), name, 0755) != 0) give_up(path);
    } else if (operation == 'L') {
      const char* const target = next_field(at, end);
      const char* const name = place.enter(path);
      if (::symlinkat(target, place.fd(), name) != 0) give_up(path);
    } else if (operation == 'C') {
      copy_tree(next_field(at, end), path);
    } else {
      give_up("understand the script");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return argc == 1 ? 0 : 2;
  const int script = ::open(argv[1], O_RDONLY | O_CLOEXEC);
  struct stat st {};
  if (script < 0 || ::fstat(script, &st) != 0 || st.st_size == 0) give_up("read the script");
  const auto size = static_cast<std::size_t>(st.st_size);
  void* const text = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, script, 0);
  if (text == MAP_FAILED || ::chdir(argv[2]) != 0) give_up("start");
  const char* const begin = static_cast<const char*>(text);
  replay(begin, begin + size);
  return 0;
}
