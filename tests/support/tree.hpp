// Trees on disk, for tests: made, copied, removed whatever their modes are, and photographed to see what changed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pfnm::test {

void write_text(const std::string& path, std::string_view text, unsigned mode = 0644);  // makes its directories
[[nodiscard]] std::string read_text(const std::string& path);                           // "" where there is none
[[nodiscard]] bool exists(const std::string& path);                                     // lstat finds it
[[nodiscard]] std::string link_text(const std::string& path);                           // "" where it is no link
void make_dirs(const std::string& path);
// Types, modes, times and links as they are (cp -a).
void copy_tree(const std::string& from, const std::string& to);
// Gives directories their write bits back where that is what stands in the way. Follows no link.
void delete_tree(const std::string& path);
[[nodiscard]] std::vector<std::string> names_in(const std::string& directory);  // sorted; empty where there is none

struct TreeEntry {
  char type = '?';  // f, d, l
  unsigned mode = 0;
  std::string content;  // digest of a file, text of a link
  std::int64_t mtime_ns = 0;
  std::uint64_t ino = 0;
};
using Tree = std::map<std::string, TreeEntry>;  // by path below the root; "" is the root itself

[[nodiscard]] Tree photograph(const std::string& root, const std::function<bool(const std::string&)>& skip = {});

enum class Compare { content, everything };  // content: type, mode, bytes, link text; everything: mtime and inode too
// What differs, one line each ("changed a/b: mode 644 -> 755"); empty where nothing does.
[[nodiscard]] std::vector<std::string> differences(const Tree& before, const Tree& after,
                                                   Compare compare = Compare::everything);

}  // namespace pfnm::test
