// `.worktree-provisioned`: what a worktree uses and what it was computed from (SPEC 3.2). Also the memos of the store,
// which let the front find an install's key without JSON, git configuration or node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/digest.hpp"
#include "nmstore/base/result.hpp"
#include "nmstore/store/inputs.hpp"
#include "nmstore/store/names.hpp"

namespace pfnm {

enum class Layout { links, private_copy };
[[nodiscard]] std::string_view layout_word(Layout layout);

// What a layout has besides links through the hop; each is ours by record, not by its looks.
enum class OwnKind { workspace_link, workspace_bin, copy };
struct OwnEntry {
  OwnKind kind = OwnKind::copy;
  std::string path;      // relative to the project
  std::string identity;  // copy: digest of the install's subtree; workspace_link: the link text; workspace_bin: "link"/"file"
};

// A real directory of the layout and its mtime when the layout stood: as long as it has that mtime, no name in it was
// made, removed or replaced.
struct StandingDir {
  std::string path;
  std::int64_t mtime_ns = 0;
};

// Settings that a layout depends on, resolved.
struct LayoutSettings {
  std::vector<std::string> writable;  // pfnm.writable, beyond the defaults
  bool operator==(const LayoutSettings&) const = default;
};

struct Record {
  InstallName install;
  Digest fingerprint{};
  std::string store;  // root directory
  Layout layout = Layout::links;
  ProgramIdentity node;
  ProgramIdentity npm;
  LayoutSettings settings;
  std::vector<Input> inputs;
  std::vector<Input> configs;  // git configuration files that pfnm.* was read from
  std::vector<StandingDir> dirs;
  std::vector<OwnEntry> own;
};

[[nodiscard]] std::string render_record(const Record& record);
[[nodiscard]] Result<Record> parse_record(std::string_view text, std::string_view shown_path);

// Memo 1, named by repository, project, toolchain, environment and lock: which files matter for this lock.
struct MemoScope {
  std::string common_dir;
  std::string project;       // relative to its worktree; "" at the root
  ProgramIdentity node;
  ProgramIdentity npm;
  std::vector<std::string> environment;  // of the process; only what says where configuration lives is used
};
[[nodiscard]] Digest inputs_memo_name(const MemoScope& scope, const Digest& lock_digest);
struct InputsMemo {
  std::vector<std::string> inputs;
  std::vector<std::string> configs;
};
[[nodiscard]] std::string render_inputs_memo(const InputsMemo& memo);
[[nodiscard]] Result<InputsMemo> parse_inputs_memo(std::string_view text, std::string_view shown_path);

// Memo 2, named by memo 1's name and the digests of all those files: the answer.
struct KeyMemo {
  InstallName install;
  Digest fingerprint{};
  LayoutSettings settings;
  std::string default_layout;  // pfnm.layout; empty: links
};
[[nodiscard]] std::string render_key_memo(const KeyMemo& memo);
[[nodiscard]] Result<KeyMemo> parse_key_memo(std::string_view text, std::string_view shown_path);
[[nodiscard]] Digest key_memo_name(const Digest& inputs_memo_name, const std::vector<Input>& inputs,
                                   const std::vector<Input>& configs);

}  // namespace pfnm
