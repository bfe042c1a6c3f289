// pfnm.* git configuration, resolved once (SPEC 1.6). A committed .pfnmconfig sets writable, unshare and layout only;
// everything else comes from the user's own configuration.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/build/ensure_install.hpp"
#include "nmstore/build/resolve.hpp"
#include "cli/process_context.hpp"
#include "nmstore/git/git_cli.hpp"
#include "nmstore/reclaim/night_window.hpp"

namespace pfnm {

enum class RootScripts { skip, run };
// What a hook may build on its own (SPEC 5.5).
enum class HookBuild { approved, always, never };

struct Settings {
  ResolvedSettings resolved;  // writable, layout, and the files it all came from
  int max_builds = 2;
  RootScripts root_scripts = RootScripts::skip;
  WriteBack write_back = WriteBack::background;
  HookBuild hook_build = HookBuild::approved;
  std::chrono::milliseconds hook_timeout{60'000};
  ScriptTrust trust = ScriptTrust::all;  // not configured: what the caller of a build may run
  Anew anew = Anew::no;                  // not configured either
};

// What the store-wide verbs read: from the user's own configuration only.
struct GcSettings {
  std::vector<std::string> roots;  // pfnm.root, absolute
  NightWindow window;
  std::string state_dir;
};

// One row of `pfnm doctor --config`.
struct SettingRow {
  std::string name;
  std::string value;
  std::string origin;  // file, or "default"
  std::string help;
};

// Errc::bad_input naming the key and the file for a value that cannot be.
[[nodiscard]] Result<Settings> read_settings(const GitCli& git, const Project& project);
[[nodiscard]] Result<GcSettings> read_gc_settings(const GitCli& git, const ProcessContext& process);
[[nodiscard]] Result<std::vector<SettingRow>> list_settings(const GitCli& git, const Worktree& worktree);

}  // namespace pfnm
