#include "nmstore/git/hooks.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "nmstore/git/hook_shim.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

constexpr std::array<const char*, 3> k_events = {"post-checkout", "post-merge", "post-rewrite"};
constexpr std::string_view k_chained = ".before-pfnm";

std::string shim_for(const std::string& program) {
  std::string text = k_hook_shim;
  const std::string_view slot = "@PFNM@";
  const auto at = text.find(slot);
  std::string quoted = "'";
  for (const char c : program) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text.replace(at, slot.size(), quoted + "'");
}

bool calls_us(const std::string& content, const std::string& event) {
  return content.find(hook_line(event)) != std::string::npos;
}

Result<std::string> git_value(const GitCli& git, const Worktree& worktree, const std::string& key) {
  PFNM_TRY_ASSIGN(ChildResult result, run_git(git, worktree.root, {"config", "--get", key}));
  while (!result.out.empty() && result.out.back() == '\n') result.out.pop_back();
  if (result.exit_code > 1)
    return fail(Error::make(Errc::failed_child, "read the git configuration of", worktree.root, result.err));
  return result.out;
}


Result<HookPlace> place_of(const GitCli& git, const Worktree& worktree, const std::string& hooks_path) {
  PFNM_TRY_ASSIGN(const ChildResult version, run_git(git, worktree.root, {"--version"}));
  const GitVersion parsed = parse_git_version(version.out);
  if (parsed.major > 2 || (parsed.major == 2 && parsed.minor >= 54)) return HookPlace::configuration;
  if (hooks_path.empty()) return HookPlace::common_directory;
  if (hooks_path == ".husky/_" || hooks_path == ".husky/_/") return HookPlace::husky9;
  if (hooks_path == ".husky" || hooks_path == ".husky/") return HookPlace::husky8;
  return HookPlace::foreign;
}

std::string directory_of(HookPlace place, const Worktree& worktree) {
  switch (place) {
    case HookPlace::configuration:
    case HookPlace::foreign:
      return {};
    case HookPlace::husky9:
    case HookPlace::husky8:
      return worktree.root + "/.husky";
    case HookPlace::common_directory:
      break;
  }
  return worktree.common_dir + "/hooks";
}

std::string undo_file(const Worktree& worktree) { return worktree.common_dir + "/pfnm-init"; }

// What --undo has to know of one step: the kind, the path or key, and the bytes before and after.
std::string length_prefixed(std::string_view text) { return std::to_string(text.size()) + "\n" + std::string(text) + "\n"; }

std::string_view step_word(HookStep step) {
  switch (step) {
    case HookStep::write:
      return "write";
    case HookStep::append:
      return "append";
    case HookStep::chain:
      return "chain";
    case HookStep::configure:
      return "configure";
  }
  return "write";
}

struct UndoEntry {
  std::string step, path, before, after;
};

std::string render_undo(const std::vector<UndoEntry>& entries) {
  std::string text = "pfnm-init 1\n";
  for (const UndoEntry& entry : entries)
    for (const std::string* field : {&entry.step, &entry.path, &entry.before, &entry.after})
      text += length_prefixed(*field);
  return text;
}

std::optional<std::string> take_field(std::string_view& rest) {
  const auto newline = rest.find('\n');
  if (newline == std::string_view::npos) return std::nullopt;
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + newline, length);
  if (error != std::errc() || end != rest.data() + newline || rest.size() < newline + 2 + length) return std::nullopt;
  std::string field(rest.substr(newline + 1, length));
  rest.remove_prefix(newline + 2 + length);
  return field;
}

std::vector<UndoEntry> parse_undo(std::string_view text) {
  std::vector<UndoEntry> entries;
  const std::string_view head = "pfnm-init 1\n";
  if (!text.starts_with(head)) return entries;
  text.remove_prefix(head.size());
  while (!text.empty()) {
    UndoEntry entry;
    for (std::string* field : {&entry.step, &entry.path, &entry.before, &entry.after}) {
      auto value = take_field(text);
      if (!value) return entries;
      *field = std::move(*value);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<UndoEntry>> read_undo(const Worktree& worktree) {
  PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, undo_file(worktree)));
  return text ? parse_undo(*text) : std::vector<UndoEntry>{};
}

Status set_config(const GitCli& git, const Worktree& worktree, const std::string& key, const std::string& value) {
  PFNM_TRY_ASSIGN(const ChildResult result, run_git(git, worktree.root, {"config", "--local", key, value}));
  if (result.ok()) return {};
  return fail(Error::make(Errc::failed_child, "set " + key + " in", worktree.common_dir + "/config", result.err));
}

Status apply_step(const Fs& fs, const GitCli& git, const Worktree& worktree, const PlannedHook& hook) {
  switch (hook.step) {
    case HookStep::configure:
      return set_config(git, worktree, hook.path, hook.content);
    case HookStep::chain:
      PFNM_TRY(fs.rename_noreplace(AT_FDCWD, hook.path, AT_FDCWD, hook.path + std::string(k_chained)));
      break;
    case HookStep::write:
    case HookStep::append:
      break;
  }
  return fs.write_file(AT_FDCWD, hook.path, hook.content, hook.mode);
}

// True where it was put back; false where somebody has edited it since.
Result<bool> undo_step(const Fs& fs, const GitCli& git, const Worktree& worktree, const UndoEntry& entry) {
  if (entry.step == "configure") {
    const std::string section = entry.path.substr(0, entry.path.find_last_of('.'));
    PFNM_TRY_ASSIGN(const ChildResult result,
                    run_git(git, worktree.root, {"config", "--local", "--remove-section", section}));
    std::ignore = result;  // gone already is gone
    return true;
  }
  if (entry.step == "directory") {
    std::ignore = fs.remove_dir(AT_FDCWD, entry.path);  // somebody has put something into it: it stays
    return true;
  }
  PFNM_TRY_ASSIGN(const auto now, find_file(AT_FDCWD, entry.path));
  if (!now || *now != entry.after) return false;
  PFNM_TRY_ASSIGN(const FileStat st, stat_at(AT_FDCWD, entry.path));
  if (entry.step == "write") {
    PFNM_TRY(fs.unlink(AT_FDCWD, entry.path));
  } else if (entry.step == "chain") {
    PFNM_TRY(fs.rename(AT_FDCWD, entry.path + std::string(k_chained), AT_FDCWD, entry.path));
  } else {
    PFNM_TRY(fs.write_file(AT_FDCWD, entry.path, entry.before, st.mode & 07777U));
  }
  return true;
}

PlannedHook plan_husky(const HookFacts& facts, const HookFile& file) {
  PlannedHook hook{HookStep::append, file.event, file.path, file.content.value_or(""), 0644};
  if (!file.content) {
    hook.step = HookStep::write;
    // Not husky.sh: it is in `_`, which a new worktree has only after this very hook.
    if (facts.place == HookPlace::husky8) hook.content = "#!/usr/bin/env sh\n[ \"$HUSKY\" = 0 ] && exit 0\n";
  }
  if (!hook.content.empty() && hook.content.back() != '\n') hook.content += '\n';
  hook.content += hook_line(file.event) + "\n";
  hook.mode = file.content ? file.mode : (facts.place == HookPlace::husky8 ? 0755U : 0644U);
  return hook;
}

}  // namespace

std::string hook_line(const std::string& event) {
  return "command -v pfnm >/dev/null 2>&1 && pfnm hook " + event + " \"$@\" </dev/null || :";
}

GitVersion parse_git_version(std::string_view text) {
  GitVersion version;
  const auto at = text.find_first_of("0123456789");
  if (!text.starts_with("git version ") || at == std::string_view::npos) return version;
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data() + at, end, version.major);
  if (major.ptr < end && *major.ptr == '.') std::from_chars(major.ptr + 1, end, version.minor);
  return version;
}

Result<HookFacts> survey_hooks(const GitCli& git, const Worktree& worktree) {
  HookFacts facts;
  PFNM_TRY_ASSIGN(facts.hooks_path, git_value(git, worktree, "core.hooksPath"));
  PFNM_TRY_ASSIGN(facts.place, place_of(git, worktree, facts.hooks_path));
  facts.directory = directory_of(facts.place, worktree);
  if (facts.place == HookPlace::configuration) {
    PFNM_TRY_ASSIGN(const std::string command, git_value(git, worktree, "hook.pfnm-post-checkout.command"));
    facts.configured = !command.empty();
  }
  if (facts.directory.empty()) return facts;
  for (const char* event : k_events) {
    HookFile file{event, facts.directory + "/" + event, HookForm::absent, std::nullopt, 0};
    PFNM_TRY_ASSIGN(const auto st, find_stat(AT_FDCWD, file.path));
    if (st && st->is_symlink()) {
      file.form = HookForm::link;
      // In the repository's own directory the link is chained to; husky's lines go into files, and this is no file of husky's.
      if (facts.place != HookPlace::common_directory) facts.place = HookPlace::foreign;
    } else if (st) {
      file.form = HookForm::file;
      PFNM_TRY_ASSIGN(file.content, find_file(AT_FDCWD, file.path));
      file.mode = st->mode & 07777U;
    }
    facts.files.push_back(std::move(file));
  }
  return facts;
}

std::vector<PlannedHook> plan_hooks(const HookFacts& facts, const std::string& program) {
  std::vector<PlannedHook> plan;
  const std::string shim = shim_for(program);
  switch (facts.place) {
    case HookPlace::foreign:
      break;
    case HookPlace::configuration:
      if (facts.configured) break;
      for (const std::string event : k_events) {
        // git appends the hook's arguments itself.
        plan.push_back({HookStep::configure, event, "hook.pfnm-" + event + ".event", event, 0});
        plan.push_back({HookStep::configure, event, "hook.pfnm-" + event + ".command", program + " hook " + event, 0});
      }
      break;
    case HookPlace::husky9:
    case HookPlace::husky8:
      for (const HookFile& file : facts.files)
        if (!file.content || !calls_us(*file.content, file.event)) plan.push_back(plan_husky(facts, file));
      break;
    case HookPlace::common_directory:
      for (const HookFile& file : facts.files) {
        if (file.content && file.content->find("pfnm init") != std::string::npos) continue;
        plan.push_back({file.form == HookForm::absent ? HookStep::write : HookStep::chain, file.event, file.path, shim, 0755});
      }
      break;
  }
  return plan;
}

Status apply_hooks(const Fs& fs, const GitCli& git, const Worktree& worktree, const HookFacts& facts,
                   const std::vector<PlannedHook>& plan) {
  if (plan.empty()) return {};
  PFNM_TRY_ASSIGN(auto undo, read_undo(worktree));
  if (!facts.directory.empty()) {
    PFNM_TRY_ASSIGN(const auto there, find_stat(AT_FDCWD, facts.directory));
    if (!there) undo.push_back({"directory", facts.directory, "", ""});
    PFNM_TRY(fs.ensure_dirs(facts.directory));
  }
  for (const PlannedHook& hook : plan) {
    std::string before;
    for (const HookFile& file : facts.files)
      if (file.path == hook.path) before = file.content.value_or("");
    undo.push_back({std::string(step_word(hook.step)), hook.path, before, hook.content});
    // Recorded before it is done: a step that did not happen has other content than `after`, and undo leaves it alone.
    PFNM_TRY(fs.write_file(AT_FDCWD, undo_file(worktree), render_undo(undo), 0600));
    PFNM_TRY(apply_step(fs, git, worktree, hook));
  }
  return {};
}

Status note_change(const Fs& fs, const Worktree& worktree, const std::string& path,
                   const std::optional<std::string>& before, const std::string& after) {
  PFNM_TRY_ASSIGN(auto undo, read_undo(worktree));
  undo.push_back({before ? "append" : "write", path, before.value_or(""), after});
  return fs.write_file(AT_FDCWD, undo_file(worktree), render_undo(undo), 0600);
}

Status note_directory(const Fs& fs, const Worktree& worktree, const std::string& path) {
  PFNM_TRY_ASSIGN(auto undo, read_undo(worktree));
  undo.push_back({"directory", path, "", ""});
  return fs.write_file(AT_FDCWD, undo_file(worktree), render_undo(undo), 0600);
}

Result<UndoneHooks> undo_hooks(const Fs& fs, const GitCli& git, const Worktree& worktree) {
  UndoneHooks undone;
  PFNM_TRY_ASSIGN(const auto entries, read_undo(worktree));
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    PFNM_TRY_ASSIGN(const bool restored, undo_step(fs, git, worktree, *entry));
    if (entry->step == "directory") continue;
    (restored ? undone.restored : undone.changed_since).push_back(entry->path);
  }
  if (!entries.empty()) PFNM_TRY(fs.unlink(AT_FDCWD, undo_file(worktree)));
  return undone;
}

}  // namespace pfnm
