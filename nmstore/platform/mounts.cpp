#include "nmstore/platform/mounts.hpp"

#include <algorithm>
#include <array>

namespace pfnm {
namespace {

// Space, tab, newline and backslash are written as \040, \011, \012 and \134.
std::string unescape_octal(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '3';
    if (!escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const auto space = line.find(' ');
    fields.push_back(line.substr(0, space));
    line = space == std::string_view::npos ? std::string_view{} : line.substr(space + 1);
  }
  return fields;
}

}  // namespace

std::vector<Mount> parse_mountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    const auto fields = split(text.substr(0, newline));
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
    // id parent major:minor root mount-point options optional... - type source super-options
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 7 || fields.end() - dash < 2) continue;
    mounts.push_back({unescape_octal(fields[3]), unescape_octal(fields[4]), std::string(dash[1])});
  }
  return mounts;
}

bool is_kernel_interface(std::string_view type) {
  constexpr std::array<std::string_view, 18> k_types = {
      "proc",    "sysfs",    "devtmpfs", "devpts",     "cgroup",    "cgroup2",     "securityfs", "debugfs", "tracefs",
      "bpf",     "mqueue",   "pstore",   "hugetlbfs",  "configfs",  "fusectl",     "efivarfs",   "autofs",  "binfmt_misc"};
  return std::find(k_types.begin(), k_types.end(), type) != k_types.end();
}

}  // namespace pfnm
