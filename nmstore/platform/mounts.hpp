// The mount table. Parsing is pure; reading it is Linux's (/proc/<pid>/mountinfo) or macOS's (getmntinfo).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nmstore/base/result.hpp"

namespace pfnm {

struct Mount {
  std::string root;         // what of the file system is mounted: "/" or, for a bind mount, the directory's path in it
  std::string mount_point;  // absolute
  std::string type;         // "ext4", "proc", ...
};

// /proc/<pid>/mountinfo (proc(5)). A line that is not understood is left out.
[[nodiscard]] std::vector<Mount> parse_mountinfo(std::string_view text);

// Those of this process.
[[nodiscard]] Result<std::vector<Mount>> list_mounts();

// Kernel interfaces that hold no one's files: proc, sysfs, cgroup2, ...
[[nodiscard]] bool is_kernel_interface(std::string_view type);

}  // namespace pfnm
