#include "nmstore/store/record.hpp"

namespace pfnm {
namespace {

constexpr int k_version = 1;

std::string_view own_word(OwnKind kind) {
  switch (kind) {
    case OwnKind::workspace_link:
      return "workspace-link";
    case OwnKind::workspace_bin:
      return "workspace-bin";
    case OwnKind::copy:
      return "copy";
  }
  return "copy";
}

std::optional<OwnKind> parse_own(std::string_view word) {
  for (const OwnKind kind : {OwnKind::workspace_link, OwnKind::workspace_bin, OwnKind::copy})
    if (own_word(kind) == word) return kind;
  return std::nullopt;
}

tl::unexpected<Error> corrupt(std::string_view path, std::string_view what) {
  return fail(Error::make(Errc::corrupt, "read", path, "bad line: " + std::string(what)));
}

// The lines that a record and a key memo share; false where the line is none of them or is malformed.
bool parse_answer_line(const Line& line, InstallName& install, Digest& fingerprint, LayoutSettings& settings) {
  if (line.size() != 2) return false;
  if (line[0] == "install") {
    const auto name = InstallName::parse(line[1]);
    if (name) install = *name;
    return name.has_value();
  }
  if (line[0] == "fingerprint") {
    const auto digest = Digest::parse(line[1]);
    if (digest) fingerprint = *digest;
    return digest.has_value();
  }
  if (line[0] == "writable") {
    settings.writable.push_back(line[1]);
    return true;
  }
  return false;
}

void write_answer(LineWriter& out, const InstallName& install, const Digest& fingerprint,
                  const LayoutSettings& settings) {
  out.line({"install", install.text});
  out.line({"fingerprint", fingerprint.to_hex()});
  for (const std::string& name : settings.writable) out.line({"writable", name});
}

bool parse_layout(const Line& line, Layout& layout) {
  if (line.size() != 2) return false;
  layout = line[1] == "private" ? Layout::private_copy : Layout::links;
  return line[1] == "private" || line[1] == "links";
}

bool parse_program_into(const Line& line, ProgramIdentity& program) {
  auto parsed = parse_program(line);
  if (parsed) program = std::move(*parsed);
  return parsed.has_value();
}

bool parse_input_into(const Line& line, std::vector<Input>& inputs) {
  auto parsed = parse_input(line);
  if (parsed) inputs.push_back(std::move(*parsed));
  return parsed.has_value();
}

bool parse_dir(const Line& line, std::vector<StandingDir>& dirs) {
  if (line.size() != 3) return false;
  const auto mtime = parse_i64(line[2]);
  if (mtime) dirs.push_back({line[1], *mtime});
  return mtime.has_value();
}

bool parse_own_line(const Line& line, std::vector<OwnEntry>& own) {
  if (line.size() != 4) return false;
  const auto kind = parse_own(line[1]);
  if (kind) own.push_back({*kind, line[2], line[3]});
  return kind.has_value();
}

bool parse_record_line(const Line& line, Record& record) {
  const std::string& word = line[0];
  if (word == "store" && line.size() == 2) {
    record.store = line[1];
    return true;
  }
  if (word == "layout") return parse_layout(line, record.layout);
  if (word == "node") return parse_program_into(line, record.node);
  if (word == "npm") return parse_program_into(line, record.npm);
  if (word == "input") return parse_input_into(line, record.inputs);
  if (word == "config") return parse_input_into(line, record.configs);
  if (word == "dir") return parse_dir(line, record.dirs);
  if (word == "own") return parse_own_line(line, record.own);
  return parse_answer_line(line, record.install, record.fingerprint, record.settings);
}

}  // namespace

std::string_view layout_word(Layout layout) {
  switch (layout) {
    case Layout::links:
      return "links";
    case Layout::private_copy:
      return "private";
  }
  return "links";
}

std::string render_record(const Record& record) {
  LineWriter out("record", k_version);
  write_answer(out, record.install, record.fingerprint, record.settings);
  out.line({"store", record.store});
  out.line({"layout", layout_word(record.layout)});
  write_program(out, "node", record.node);
  write_program(out, "npm", record.npm);
  for (const Input& input : record.inputs) write_input(out, "input", input);
  for (const Input& config : record.configs) write_input(out, "config", config);
  for (const StandingDir& dir : record.dirs) out.line({"dir", dir.path, std::to_string(dir.mtime_ns)});
  for (const OwnEntry& own : record.own) out.line({"own", own_word(own.kind), own.path, own.identity});
  return std::move(out).finish();
}

Result<Record> parse_record(std::string_view text, std::string_view shown_path) {
  PFNM_TRY_ASSIGN(const auto lines, parse_lines(text, "record", k_version, shown_path));
  Record record;
  for (const Line& line : lines)
    if (!parse_record_line(line, record)) return corrupt(shown_path, line[0]);
  if (record.install.text.empty() || record.store.empty()) return corrupt(shown_path, "no install is named");
  return record;
}

Digest inputs_memo_name(const MemoScope& scope, const Digest& lock_digest) {
  Hasher hasher;
  hasher.update_field(scope.common_dir);
  hasher.update_field(scope.project);
  for (const ProgramIdentity* program : {&scope.node, &scope.npm}) {
    hasher.update_field(program->path);
    hasher.update_field(std::to_string(program->dev) + " " + std::to_string(program->ino) + " " +
                        std::to_string(program->mtime_ns));
  }
  for (const std::string_view name :
       {"HOME=", "XDG_CONFIG_HOME=", "GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=",
        "npm_config_userconfig=", "NPM_CONFIG_USERCONFIG=", "npm_config_globalconfig=", "NPM_CONFIG_GLOBALCONFIG=",
        "npm_config_prefix=", "PREFIX="}) {
    std::string_view value;
    for (const std::string& entry : scope.environment)
      if (entry.starts_with(name)) value = std::string_view(entry).substr(name.size());
    hasher.update_field(value);
  }
  hasher.update_field(lock_digest.to_hex());
  return hasher.finish();
}

std::string render_inputs_memo(const InputsMemo& memo) {
  LineWriter out("inputs", k_version);
  for (const std::string& path : memo.inputs) out.line({"input", path});
  for (const std::string& path : memo.configs) out.line({"config", path});
  return std::move(out).finish();
}

Result<InputsMemo> parse_inputs_memo(std::string_view text, std::string_view shown_path) {
  PFNM_TRY_ASSIGN(const auto lines, parse_lines(text, "inputs", k_version, shown_path));
  InputsMemo memo;
  for (const Line& line : lines) {
    if (line.size() != 2) return corrupt(shown_path, line[0]);
    if (line[0] == "input") {
      memo.inputs.push_back(line[1]);
    } else if (line[0] == "config") {
      memo.configs.push_back(line[1]);
    } else {
      return corrupt(shown_path, line[0]);
    }
  }
  return memo;
}

std::string render_key_memo(const KeyMemo& memo) {
  LineWriter out("key", k_version);
  write_answer(out, memo.install, memo.fingerprint, memo.settings);
  out.line({"layout", memo.default_layout});
  return std::move(out).finish();
}

Result<KeyMemo> parse_key_memo(std::string_view text, std::string_view shown_path) {
  PFNM_TRY_ASSIGN(const auto lines, parse_lines(text, "key", k_version, shown_path));
  KeyMemo memo;
  for (const Line& line : lines) {
    if (line[0] == "layout" && line.size() == 2) {
      memo.default_layout = line[1];
    } else if (!parse_answer_line(line, memo.install, memo.fingerprint, memo.settings)) {
      return corrupt(shown_path, line[0]);
    }
  }
  if (memo.install.text.empty()) return corrupt(shown_path, "no install is named");
  return memo;
}

Digest key_memo_name(const Digest& inputs_memo_name, const std::vector<Input>& inputs,
                     const std::vector<Input>& configs) {
  Hasher hasher;
  hasher.update_field(inputs_memo_name.to_hex());
  for (const auto* list : {&inputs, &configs}) {
    hasher.update_field(std::to_string(list->size()));
    for (const Input& input : *list) {
      hasher.update_field(input.path);
      hasher.update_field(input.kind == InputKind::absent ? std::string("absent") : input.digest.to_hex());
    }
  }
  return hasher.finish();
}

}  // namespace pfnm
