#include "nmstore/platform/process_uses.hpp"

namespace pfnm {

std::string_view use_word(UseKind kind) {
  switch (kind) {
    case UseKind::working_directory:
      return "works in it";
    case UseKind::root_directory:
      return "has its root in it";
    case UseKind::executable:
      return "runs a program of it";
    case UseKind::open_file:
      return "has a file of it open";
    case UseKind::mapping:
      return "has a file of it mapped";
    case UseKind::mount:
      return "has it mounted";
  }
  return "uses it";
}

// start-end perms offset major:minor inode    path
std::string_view mapped_path(std::string_view line) {
  for (int field = 0; field < 5; ++field) {
    const auto space = line.find(' ');
    if (space == std::string_view::npos) return {};
    line.remove_prefix(space + 1);
    const auto start = line.find_first_not_of(' ');
    if (start == std::string_view::npos) return {};
    line.remove_prefix(start);
  }
  return line.starts_with('/') ? line : std::string_view{};
}

}  // namespace pfnm
