// Installing the post-checkout hook where git will really run it (SPEC 5.3), and taking it away again exactly.
//
// git from 2.54 on has hooks in its configuration, which run whatever core.hooksPath says. Before that: husky's
// directory, if core.hooksPath points to it; the repository's hooks directory, if core.hooksPath is not set, chaining
// to what is there. Any other directory is somebody's: it is named, with the line to put there, and not written to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/git/git_cli.hpp"

namespace pfnm {

enum class HookPlace { configuration, husky9, husky8, common_directory, foreign };

enum class HookForm { absent, file, link };  // link: a symbolic link, to a script that is somebody's
struct HookFile {
  std::string event;                   // "post-checkout"
  std::string path;                    // absolute
  HookForm form = HookForm::absent;
  std::optional<std::string> content;  // of a file
  std::uint32_t mode = 0;
};

struct HookFacts {
  HookPlace place = HookPlace::common_directory;
  std::string hooks_path;         // core.hooksPath as set; empty: not set
  std::string directory;          // where the files are; empty for configuration and foreign
  std::vector<HookFile> files;    // one per event
  bool configured = false;        // configuration hooks of ours are there already
};
// `git_version`: text of `git --version`.
[[nodiscard]] Result<HookFacts> survey_hooks(const GitCli& git, const Worktree& worktree);

enum class HookStep { write, append, chain, configure };
struct PlannedHook {
  HookStep step = HookStep::write;
  std::string event;
  std::string path;     // of the file; or the configuration key
  std::string content;  // the whole new content; or the configuration value
  std::uint32_t mode = 0755;
};
// Pure: what to write. Empty where all is done already. `program` is the absolute path of the pfnm to call.
[[nodiscard]] std::vector<PlannedHook> plan_hooks(const HookFacts& facts, const std::string& program);

// Does it, and leaves beside the repository's configuration (`<common>/pfnm-init`) what --undo needs.
[[nodiscard]] Status apply_hooks(const Fs& fs, const GitCli& git, const Worktree& worktree, const HookFacts& facts,
                                 const std::vector<PlannedHook>& plan);

// Has --undo put back another file that init changed: `before` is nothing where it was not there.
[[nodiscard]] Status note_change(const Fs& fs, const Worktree& worktree, const std::string& path,
                                 const std::optional<std::string>& before, const std::string& after);

// The same for a directory that init made: taken away again if it is empty.
[[nodiscard]] Status note_directory(const Fs& fs, const Worktree& worktree, const std::string& path);

struct UndoneHooks {
  std::vector<std::string> restored;
  std::vector<std::string> changed_since;  // edited after init: left as they are, to be mended by hand
};
[[nodiscard]] Result<UndoneHooks> undo_hooks(const Fs& fs, const GitCli& git, const Worktree& worktree);

// The line a person puts into a hook of their own.
[[nodiscard]] std::string hook_line(const std::string& event);

// 2.39.5 -> {2, 39}; {0, 0} where the text is not git's.
struct GitVersion {
  int major = 0;
  int minor = 0;
};
[[nodiscard]] GitVersion parse_git_version(std::string_view text);

}  // namespace pfnm
