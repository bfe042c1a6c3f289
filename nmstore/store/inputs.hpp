// The files an install's key is computed from, as seen in one worktree: which they are, what they held, and whether
// they still do. Stat first, digest where stat differs (SPEC 5.4).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/digest.hpp"
#include "nmstore/base/result.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/line_file.hpp"

namespace pfnm {

enum class InputKind { absent, file, directory };

// `path` is relative to the project or absolute. A directory's digest covers the names in it; the files inside are
// inputs of their own. Symbolic links are followed, as npm follows them.
struct Input {
  std::string path;
  InputKind kind = InputKind::absent;
  std::uint64_t size = 0;
  std::uint64_t ino = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  Digest digest{};
};

// Reads `path` (below `project` unless absolute). For a file the raw bytes are returned through `content` if asked for.
[[nodiscard]] Result<Input> survey_input(const std::string& project, const std::string& path,
                                         std::string* content = nullptr);

enum class InputState { same, changed };
// `known` against the disk.
[[nodiscard]] Result<InputState> compare_input(const std::string& project, const Input& known);
// All of them; stops at the first that changed.
[[nodiscard]] Result<InputState> compare_inputs(const std::string& project, const std::vector<Input>& known);

void write_input(LineWriter& out, std::string_view word, const Input& input);
[[nodiscard]] std::optional<Input> parse_input(const Line& line);  // the line without its first word checked

// A program found on PATH: who it is, cheaply.
struct ProgramIdentity {
  std::string path;
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::int64_t mtime_ns = 0;
  bool operator==(const ProgramIdentity&) const = default;
};
[[nodiscard]] Result<ProgramIdentity> identify_program(const std::string& path);
void write_program(LineWriter& out, std::string_view word, const ProgramIdentity& program);
[[nodiscard]] std::optional<ProgramIdentity> parse_program(const Line& line);

}  // namespace pfnm
