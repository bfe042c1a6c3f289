#include "nmstore/store/inputs.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "nmstore/platform/os.hpp"

namespace pfnm {
namespace {

std::string full_path(const std::string& project, const std::string& path) {
  return path.starts_with('/') ? path : project + "/" + path;
}

std::string_view kind_word(InputKind kind) {
  switch (kind) {
    case InputKind::absent:
      return "absent";
    case InputKind::file:
      return "file";
    case InputKind::directory:
      return "directory";
  }
  return "absent";
}

// stat that follows links: the file npm would read.
Result<Input> stat_input(const std::string& full, const std::string& path) {
  Input input;
  input.path = path;
  struct stat st {};
  if (::stat(full.c_str(), &st) != 0) {
    const int saved = errno;
    if (saved == ENOENT || saved == ENOTDIR) return input;
    return fail_errno(saved, "read", full);
  }
  if (S_ISDIR(st.st_mode)) {
    input.kind = InputKind::directory;
  } else if (S_ISREG(st.st_mode)) {
    input.kind = InputKind::file;
  } else {
    return fail(Error::make(Errc::bad_input, "read", full, "it is neither a file nor a directory"));
  }
  input.size = static_cast<std::uint64_t>(st.st_size);
  input.ino = static_cast<std::uint64_t>(st.st_ino);
  input.mtime_ns = os::mtime_ns(st);
  input.ctime_ns = os::ctime_ns(st);
  return input;
}

Result<std::string> read_following(const std::string& full) {
  const Fd fd(::open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(errno, "open", full);
  return read_all(fd.get(), full);
}

Result<Digest> digest_names(const std::string& full) {
  const Fd fd(::open(full.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open the directory", full);
  PFNM_TRY_ASSIGN(const auto entries, list_dir(fd.get(), full));
  Hasher hasher;
  for (const DirEntry& entry : entries) hasher.update_field(entry.name);
  return hasher.finish();
}

bool same_stat(const Input& a, const Input& b) {
  return a.kind == b.kind && a.size == b.size && a.ino == b.ino && a.mtime_ns == b.mtime_ns &&
         a.ctime_ns == b.ctime_ns;
}

}  // namespace

Result<Input> survey_input(const std::string& project, const std::string& path, std::string* content) {
  const std::string full = full_path(project, path);
  PFNM_TRY_ASSIGN(Input input, stat_input(full, path));
  switch (input.kind) {
    case InputKind::absent:
      break;
    case InputKind::directory: {
      PFNM_TRY_ASSIGN(input.digest, digest_names(full));
      break;
    }
    case InputKind::file: {
      PFNM_TRY_ASSIGN(std::string text, read_following(full));
      input.digest = sha256(text);
      if (content != nullptr) *content = std::move(text);
      break;
    }
  }
  return input;
}

Result<InputState> compare_input(const std::string& project, const Input& known) {
  PFNM_TRY_ASSIGN(const Input now, stat_input(full_path(project, known.path), known.path));
  if (now.kind != known.kind) return InputState::changed;
  if (now.kind == InputKind::absent || same_stat(now, known)) return InputState::same;
  PFNM_TRY_ASSIGN(const Input read, survey_input(project, known.path));
  return read.digest == known.digest ? InputState::same : InputState::changed;
}

Result<InputState> compare_inputs(const std::string& project, const std::vector<Input>& known) {
  for (const Input& input : known) {
    PFNM_TRY_ASSIGN(const InputState state, compare_input(project, input));
    if (state == InputState::changed) return state;
  }
  return InputState::same;
}

void write_input(LineWriter& out, std::string_view word, const Input& input) {
  if (input.kind == InputKind::absent) {
    out.line({word, input.path, kind_word(input.kind)});
    return;
  }
  out.line({word, input.path, kind_word(input.kind), std::to_string(input.size), std::to_string(input.mtime_ns),
            std::to_string(input.ctime_ns), std::to_string(input.ino), input.digest.to_hex()});
}

std::optional<Input> parse_input(const Line& line) {
  if (line.size() < 3) return std::nullopt;
  Input input;
  input.path = line[1];
  if (line[2] == "absent" && line.size() == 3) return input;
  if (line.size() != 8) return std::nullopt;
  if (line[2] == "file") {
    input.kind = InputKind::file;
  } else if (line[2] == "directory") {
    input.kind = InputKind::directory;
  } else {
    return std::nullopt;
  }
  const auto size = parse_u64(line[3]);
  const auto mtime = parse_i64(line[4]);
  const auto ctime = parse_i64(line[5]);
  const auto ino = parse_u64(line[6]);
  const auto digest = Digest::parse(line[7]);
  if (!size || !mtime || !ctime || !ino || !digest) return std::nullopt;
  input.size = *size;
  input.mtime_ns = *mtime;
  input.ctime_ns = *ctime;
  input.ino = *ino;
  input.digest = *digest;
  return input;
}

Result<ProgramIdentity> identify_program(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return fail_errno(errno, "find the program", path);
  ProgramIdentity program;
  program.path = path;
  program.dev = static_cast<std::uint64_t>(st.st_dev);
  program.ino = static_cast<std::uint64_t>(st.st_ino);
  program.mtime_ns = os::mtime_ns(st);
  return program;
}

void write_program(LineWriter& out, std::string_view word, const ProgramIdentity& program) {
  out.line({word, program.path, std::to_string(program.dev), std::to_string(program.ino),
            std::to_string(program.mtime_ns)});
}

std::optional<ProgramIdentity> parse_program(const Line& line) {
  if (line.size() != 5) return std::nullopt;
  const auto dev = parse_u64(line[2]);
  const auto ino = parse_u64(line[3]);
  const auto mtime = parse_i64(line[4]);
  if (!dev || !ino || !mtime) return std::nullopt;
  return ProgramIdentity{line[1], *dev, *ino, *mtime};
}

}  // namespace pfnm
