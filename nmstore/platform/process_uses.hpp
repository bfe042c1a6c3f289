// What running processes hold of the file system: working directories, executables, open files, mappings, mounts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nmstore/base/result.hpp"

namespace pfnm {

enum class UseKind { working_directory, root_directory, executable, open_file, mapping, mount };
[[nodiscard]] std::string_view use_word(UseKind kind);

struct ProcessUse {
  std::uint64_t pid = 0;
  UseKind kind = UseKind::open_file;
  std::string path;
};

struct ProcessSurvey {
  std::vector<ProcessUse> uses;
  // Processes of this user that hide what they hold even from their owner (not dumpable: agents that keep secrets,
  // sandboxed children). Processes of other users are not counted: they cannot enter a directory of mode 0700.
  std::uint64_t hidden = 0;
};

// Every use of a path that `wanted` says yes to, of every process and each of its threads. Paths are as the kernel says
// them, so of another mount namespace they may be others than ours: `wanted` should go by something that no bind mount
// changes. An error where the list of processes cannot be read.
[[nodiscard]] Result<ProcessSurvey> survey_processes(const std::function<bool(std::string_view)>& wanted);

// The path field of one line of /proc/<pid>/maps; empty where the mapping has no file.
[[nodiscard]] std::string_view mapped_path(std::string_view line);

}  // namespace pfnm
