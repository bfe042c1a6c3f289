#include "cli/settings.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

struct Known {
  const char* name;  // as people write it
  const char* key;   // as git prints it
  const char* by_default;
  const char* help;
};
constexpr std::array<Known, 10> k_known = {{
    {"pfnm.layout", "pfnm.layout", "links", "what link makes: links or private"},
    {"pfnm.writable", "pfnm.writable", "", "more real directories in node_modules (may be given several times)"},
    {"pfnm.maxBuilds", "pfnm.maxbuilds", "2", "builds at once in a store"},
    {"pfnm.rootScripts", "pfnm.rootscripts", "skip", "run: the project's own lifecycle scripts run after linking"},
    {"pfnm.hookBuild", "pfnm.hookbuild", "approved", "what a hook builds by itself: approved, always or never"},
    {"pfnm.hookTimeout", "pfnm.hooktimeout", "60", "seconds a hook waits for a build before it leaves it alone"},
    {"pfnm.nightWindow", "pfnm.nightwindow", "08:00-11:00", "when gc --apply reclaims, UTC; may pass midnight"},
    {"pfnm.root", "pfnm.root", "", "more directories that worktrees lie in, for gc (may be given several times)"},
    {"pfnm.stateDir", "pfnm.statedir", "", "ledger and logs (default: ${XDG_STATE_HOME:-~/.local/state}/pfnm)"},
    {"pfnm.writeBack", "pfnm.writeback", "background", "how a new install reaches the disk: background, wait or off"},
}};

tl::unexpected<Error> bad_value(const ConfigValue& value, std::string_view why) {
  return fail(Error::make(Errc::bad_input, "use", value.file.empty() ? "the git configuration" : value.file,
                          value.key + " = \"" + value.value + "\": " + std::string(why)));
}

// A directory below node_modules, which must stay there.
bool is_inside(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.back() == '/') return false;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.starts_with(".pf")) return false;
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  return true;
}

Status take_layout(const ConfigValue& value, ResolvedSettings& out) {
  if (value.value != "links" && value.value != "private")
    return bad_value(value, "it may be links or private");
  out.default_layout = value.value;
  return {};
}

Status take_writable(const ConfigValue& value, ResolvedSettings& out) {
  if (!is_inside(value.value)) return bad_value(value, "it must be the name of a directory inside node_modules");
  auto& writable = out.layout.writable;
  if (std::find(writable.begin(), writable.end(), value.value) == writable.end()) writable.push_back(value.value);
  return {};
}

Result<int> parse_number(const ConfigValue& value, int least) {
  int number = 0;
  const char* end = value.value.data() + value.value.size();
  const auto parsed = std::from_chars(value.value.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < least)
    return bad_value(value, "it must be a number from " + std::to_string(least) + " on");
  return number;
}

Status take_hook(const ConfigValue& value, Settings& settings) {
  if (value.key == "pfnm.hooktimeout") {
    PFNM_TRY_ASSIGN(const int seconds, parse_number(value, 0));
    settings.hook_timeout = std::chrono::seconds(seconds);
    return {};
  }
  if (value.value != "approved" && value.value != "always" && value.value != "never")
    return bad_value(value, "it may be approved, always or never");
  if (value.value == "always") settings.hook_build = HookBuild::always;
  if (value.value == "never") settings.hook_build = HookBuild::never;
  if (value.value == "approved") settings.hook_build = HookBuild::approved;
  return {};
}

Status take_own(const ConfigValue& value, Settings& settings) {
  if (value.key == "pfnm.maxbuilds") {
    PFNM_TRY_ASSIGN(settings.max_builds, parse_number(value, 1));
  } else if (value.key == "pfnm.rootscripts") {
    if (value.value != "run" && value.value != "skip") return bad_value(value, "it may be skip or run");
    settings.root_scripts = value.value == "run" ? RootScripts::run : RootScripts::skip;
  } else if (value.key == "pfnm.writeback") {
    if (value.value == "background") {
      settings.write_back = WriteBack::background;
    } else if (value.value == "wait") {
      settings.write_back = WriteBack::wait;
    } else if (value.value == "off") {
      settings.write_back = WriteBack::off;
    } else {
      return bad_value(value, "it may be background, wait or off");
    }
  }
  return {};
}

Status take(const ConfigValue& value, Settings& settings) {
  if (value.key == "pfnm.layout") return take_layout(value, settings.resolved);
  if (value.key == "pfnm.writable") return take_writable(value, settings.resolved);
  if (value.key.starts_with("pfnm.hook")) {
    const bool known = value.key == "pfnm.hooktimeout" || value.key == "pfnm.hookbuild";
    return known ? take_hook(value, settings) : Status{};
  }
  return take_own(value, settings);
}

Result<std::vector<ConfigValue>> committed_values(const GitCli& git, const std::string& root) {
  const std::string path = root + "/.pfnmconfig";
  PFNM_TRY_ASSIGN(const auto present, find_stat(AT_FDCWD, path));
  if (!present) return std::vector<ConfigValue>{};
  PFNM_TRY_ASSIGN(auto values, read_config_file(git, path));
  std::erase_if(values, [](const ConfigValue& value) {
    return value.key != "pfnm.layout" && value.key != "pfnm.writable" && value.key != "pfnm.unshare";
  });
  return values;
}

// "~/x" as git reads paths.
Result<std::string> take_path(const ConfigValue& value, const ProcessContext& process) {
  std::string path = value.value;
  if (path == "~" || path.starts_with("~/")) path = process.variable("HOME") + path.substr(1);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (!path.starts_with('/')) return bad_value(value, "it must be an absolute path");
  return path;
}

std::string default_state_dir(const ProcessContext& process) {
  const std::string state = process.variable("XDG_STATE_HOME");
  if (state.starts_with('/')) return state + "/pfnm";
  const std::string home = process.variable("HOME");
  return home.empty() ? std::string() : home + "/.local/state/pfnm";
}

}  // namespace

Result<GcSettings> read_gc_settings(const GitCli& git, const ProcessContext& process) {
  GcSettings settings;
  settings.state_dir = default_state_dir(process);
  PFNM_TRY_ASSIGN(const auto values, read_user_config(git, process.directory));
  for (const ConfigValue& value : values) {
    if (value.key == "pfnm.nightwindow") {
      const auto window = NightWindow::parse(value.value);
      if (!window) return bad_value(value, "it must be HH:MM-HH:MM");
      settings.window = *window;
    } else if (value.key == "pfnm.root") {
      PFNM_TRY_ASSIGN(std::string root, take_path(value, process));
      // The store's own idea of a path has its links resolved.
      const auto resolved = real_path(root);
      settings.roots.push_back(resolved.has_value() ? *resolved : std::move(root));
    } else if (value.key == "pfnm.statedir") {
      PFNM_TRY_ASSIGN(settings.state_dir, take_path(value, process));
    }
  }
  if (settings.state_dir.empty())
    return fail(Error::make(Errc::usage, "find", "the state directory", "HOME is not set", "set pfnm.stateDir"));
  return settings;
}

Result<Settings> read_settings(const GitCli& git, const Project& project) {
  Settings settings;
  PFNM_TRY_ASSIGN(const auto committed, committed_values(git, project.root));
  for (const ConfigValue& value : committed) PFNM_TRY(take(value, settings));
  PFNM_TRY_ASSIGN(const GitConfig config, read_pfnm_config(git, project.worktree));
  for (const ConfigValue& value : config.values) PFNM_TRY(take(value, settings));
  std::sort(settings.resolved.layout.writable.begin(), settings.resolved.layout.writable.end());
  settings.resolved.config_files = config.files;
  settings.resolved.cacheable = config.cacheable == GitConfig::Cacheable::yes ? ResolvedSettings::Cacheable::yes
                                                                             : ResolvedSettings::Cacheable::no;
  return settings;
}

Result<std::vector<SettingRow>> list_settings(const GitCli& git, const Worktree& worktree) {
  PFNM_TRY_ASSIGN(auto values, committed_values(git, worktree.root));
  PFNM_TRY_ASSIGN(const GitConfig config, read_pfnm_config(git, worktree));
  values.insert(values.end(), config.values.begin(), config.values.end());
  std::vector<SettingRow> rows;
  for (const Known& known : k_known) {
    SettingRow row{known.name, known.by_default, "default", known.help};
    for (const ConfigValue& value : values) {
      if (value.key != known.key) continue;
      const std::string_view key = known.key;
      const bool adds = (key == "pfnm.writable" || key == "pfnm.root") && row.origin != "default";
      row.value = adds ? row.value + " " + value.value : value.value;
      row.origin = value.file;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace pfnm
