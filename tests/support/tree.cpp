#include "tests/support/tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "nmstore/base/digest.hpp"

namespace pfnm::test {
namespace {

std::string parent_of(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

void photograph_into(Tree& tree, const std::string& root, const std::string& path,
                     const std::function<bool(const std::string&)>& skip) {
  if (skip && !path.empty() && skip(path)) return;
  const std::string full = path.empty() ? root : root + "/" + path;
  struct stat st {};
  if (::lstat(full.c_str(), &st) != 0) return;
  TreeEntry entry;
  entry.mode = st.st_mode & 07777U;
  entry.mtime_ns = std::int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
  entry.ino = st.st_ino;
  if (S_ISDIR(st.st_mode)) {
    entry.type = 'd';
  } else if (S_ISLNK(st.st_mode)) {
    entry.type = 'l';
    entry.content = link_text(full);
  } else if (S_ISREG(st.st_mode)) {
    entry.type = 'f';
    entry.content = sha256(read_text(full)).to_hex();
  }
  tree[path] = entry;
  if (entry.type != 'd') return;
  for (const std::string& name : names_in(full)) photograph_into(tree, root, path.empty() ? name : path + "/" + name, skip);
}

std::string octal(unsigned mode) {
  std::ostringstream text;
  text << std::oct << mode;
  return text.str();
}

std::string difference(const TreeEntry& a, const TreeEntry& b, Compare compare) {
  if (a.type != b.type) return std::string("type ") + a.type + " -> " + b.type;
  if (a.mode != b.mode) return "mode " + octal(a.mode) + " -> " + octal(b.mode);
  if (a.content != b.content) return a.type == 'l' ? "link " + a.content + " -> " + b.content : "content";
  if (compare == Compare::content) return {};
  if (a.ino != b.ino) return "inode";
  if (a.mtime_ns != b.mtime_ns) return "mtime";
  return {};
}

}  // namespace

void make_dirs(const std::string& path) {
  if (path.empty() || exists(path)) return;
  make_dirs(parent_of(path));
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) throw std::runtime_error("mkdir " + path);
}

void write_text(const std::string& path, std::string_view text, unsigned mode) {
  make_dirs(parent_of(path));
  {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    if (!out) throw std::runtime_error("write " + path);
  }
  if (::chmod(path.c_str(), mode) != 0) throw std::runtime_error("chmod " + path);
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool exists(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0;
}

std::string link_text(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t length = ::readlink(path.c_str(), buffer.data(), buffer.size());
  return length < 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(length));
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* const dir = ::opendir(directory.c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

void copy_tree(const std::string& from, const std::string& to) {
  struct stat st {};
  if (::lstat(from.c_str(), &st) != 0) throw std::runtime_error("copy " + from);
  if (S_ISLNK(st.st_mode)) {
    if (::symlink(link_text(from).c_str(), to.c_str()) != 0) throw std::runtime_error("link " + to);
  } else if (S_ISDIR(st.st_mode)) {
    make_dirs(parent_of(to));
    if (::mkdir(to.c_str(), 0700) != 0 && errno != EEXIST) throw std::runtime_error("mkdir " + to);
    for (const std::string& name : names_in(from)) copy_tree(from + "/" + name, to + "/" + name);
    ::chmod(to.c_str(), st.st_mode & 07777U);
  } else {
    write_text(to, read_text(from), st.st_mode & 07777U);
  }
  const std::array<timespec, 2> times{st.st_atim, st.st_mtim};
  ::utimensat(AT_FDCWD, to.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
}

void delete_tree(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return;
  if (!S_ISDIR(st.st_mode)) {
    ::unlink(path.c_str());
    return;
  }
  if ((st.st_mode & 0700U) != 0700U) ::chmod(path.c_str(), 0700);
  for (const std::string& name : names_in(path)) delete_tree(path + "/" + name);
  ::rmdir(path.c_str());
}

Tree photograph(const std::string& root, const std::function<bool(const std::string&)>& skip) {
  Tree tree;
  photograph_into(tree, root, "", skip);
  return tree;
}

std::vector<std::string> differences(const Tree& before, const Tree& after, Compare compare) {
  std::vector<std::string> lines;
  for (const auto& [path, entry] : before) {
    const auto at = after.find(path);
    if (at == after.end()) {
      lines.push_back("gone " + path);
    } else if (const std::string what = difference(entry, at->second, compare); !what.empty()) {
      lines.push_back("changed " + path + ": " + what);
    }
  }
  for (const auto& [path, entry] : after)
    if (!before.contains(path)) lines.push_back("new " + path);
  return lines;
}

}  // namespace pfnm::test
