#include "nmstore/git/git_cli.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

// `git rev-parse --local-env-vars` of git 2.39 to 2.55.
constexpr std::array<std::string_view, 19> k_local_variables = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG",          "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",             "GIT_DIR",             "GIT_WORK_TREE",         "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",                   "GIT_INDEX_FILE",      "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",                       "GIT_SHALLOW_FILE",    "GIT_COMMON_DIR",        "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_QUARANTINE_PATH",              "GIT_REF_STORAGE_FORMAT", "GIT_NAMESPACE"};

std::string variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment)
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return {};
}

// The files git reads whether or not they hold anything of ours today: a value added tomorrow must be noticed.
std::vector<std::string> standard_files(const GitCli& git, const Worktree& worktree) {
  std::vector<std::string> files;
  const std::string system = variable(git.environment, "GIT_CONFIG_SYSTEM");
  files.push_back(system.empty() ? "/etc/gitconfig" : system);
  const std::string home = variable(git.environment, "HOME");
  const std::string xdg = variable(git.environment, "XDG_CONFIG_HOME");
  if (const std::string global = variable(git.environment, "GIT_CONFIG_GLOBAL"); !global.empty()) {
    files.push_back(global);
  } else if (!home.empty()) {
    files.push_back((xdg.empty() ? home + "/.config" : xdg) + "/git/config");
    files.push_back(home + "/.gitconfig");
  }
  files.push_back(worktree.common_dir + "/config");
  return files;
}

// `git config --list --show-origin -z`: origin NUL key LF value NUL ...
void parse_listing(std::string_view text, const std::string& directory, GitConfig& config) {
  while (!text.empty()) {
    const auto end_of_origin = text.find('\0');
    if (end_of_origin == std::string_view::npos) return;
    const std::string_view origin = text.substr(0, end_of_origin);
    text.remove_prefix(end_of_origin + 1);
    const auto end_of_entry = text.find('\0');
    const std::string_view entry = text.substr(0, end_of_entry);
    text.remove_prefix(end_of_entry == std::string_view::npos ? text.size() : end_of_entry + 1);
    std::string file;
    if (origin.starts_with("file:")) {
      file = origin.substr(5);
      if (!file.starts_with('/')) file = directory + "/" + file;
      if (std::find(config.files.begin(), config.files.end(), file) == config.files.end()) config.files.push_back(file);
    }
    const auto newline = entry.find('\n');
    const std::string_view key = entry.substr(0, newline);
    if (key.starts_with("includeif.")) config.cacheable = GitConfig::Cacheable::no;
    if (!key.starts_with("pfnm.")) continue;
    const std::string_view value = newline == std::string_view::npos ? "true" : entry.substr(newline + 1);
    config.values.push_back({std::string(key), std::string(value), file});
  }
}

tl::unexpected<Error> git_failed(std::string_view operation, const std::string& path, const ChildResult& result) {
  std::string reason = result.err.empty() ? "git exited with " + std::to_string(result.exit_code) : result.err;
  while (!reason.empty() && reason.back() == '\n') reason.pop_back();
  return fail(Error::make(Errc::failed_child, operation, path, reason));
}

ChildSpec git_spec(const GitCli& git, const std::string& directory, const std::vector<std::string>& arguments) {
  ChildSpec spec;
  spec.argv = {git.program, "-C", directory};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.environment = git.environment;
  return spec;
}

}  // namespace

bool is_git_local_variable(std::string_view name) {
  return std::find(k_local_variables.begin(), k_local_variables.end(), name) != k_local_variables.end() ||
         name.starts_with("GIT_CONFIG_KEY_") || name.starts_with("GIT_CONFIG_VALUE_");
}

std::vector<std::string> git_environment(const std::vector<std::string>& environment) {
  std::vector<std::string> clean;
  for (const std::string& entry : environment) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (is_git_local_variable(name)) continue;
    if (name == "LC_ALL" || name == "GIT_TERMINAL_PROMPT" || name == "GIT_OPTIONAL_LOCKS") continue;
    clean.push_back(entry);
  }
  clean.insert(clean.end(), {"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0"});
  return clean;
}

Result<ChildResult> run_git(const GitCli& git, const std::string& directory,
                            const std::vector<std::string>& arguments) {
  return run_child(git_spec(git, directory, arguments));
}

Result<ChildResult> run_git_within(const GitCli& git, const std::string& directory,
                                   const std::vector<std::string>& arguments, std::chrono::milliseconds time_limit) {
  ChildSpec spec = git_spec(git, directory, arguments);
  spec.time_limit = time_limit;
  return run_child(spec);
}

Result<std::vector<ConfigValue>> read_user_config(const GitCli& git, const std::string& directory) {
  PFNM_TRY_ASSIGN(const ChildResult result,
                  run_git(git, directory, {"config", "--list", "--show-origin", "-z", "--includes"}));
  if (!result.ok()) return git_failed("read the git configuration at", directory, result);
  GitConfig config;
  parse_listing(result.out, directory, config);
  return std::move(config.values);
}

Result<GitConfig> read_pfnm_config(const GitCli& git, const Worktree& worktree) {
  PFNM_TRY_ASSIGN(const ChildResult result,
                  run_git(git, worktree.root, {"config", "--list", "--show-origin", "-z", "--includes"}));
  if (!result.ok()) return git_failed("read the git configuration of", worktree.root, result);
  GitConfig config;
  config.files = standard_files(git, worktree);
  parse_listing(result.out, worktree.root, config);
  PFNM_TRY_ASSIGN(const auto own, find_stat(AT_FDCWD, worktree.git_dir + "/config.worktree"));
  if (own) config.cacheable = GitConfig::Cacheable::no;
  return config;
}

Result<std::vector<ConfigValue>> read_config_file(const GitCli& git, const std::string& path) {
  PFNM_TRY_ASSIGN(const ChildResult result,
                  run_git(git, "/", {"config", "--list", "--show-origin", "-z", "--no-includes", "--file", path}));
  if (!result.ok()) return git_failed("read", path, result);
  GitConfig config;
  parse_listing(result.out, "/", config);
  return config.values;
}

Status ensure_ignored(const Fs& fs, const GitCli& git, const Project& project) {
  PFNM_TRY_ASSIGN(const ChildResult result,
                  run_git(git, project.root, {"check-ignore", "-q", "--no-index", "node_modules/.pf-shared"}));
  if (result.exit_code == 0) return {};
  if (result.exit_code != 1) return git_failed("ask git what it ignores in", project.root, result);
  const std::string path = project.worktree.common_dir + "/info/exclude";
  PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, path));
  std::string updated = text.value_or("");
  if (("\n" + updated + "\n").find("\nnode_modules/\n") != std::string::npos) return {};
  if (!updated.empty() && updated.back() != '\n') updated += '\n';
  updated += "node_modules/\n";
  PFNM_TRY(fs.ensure_dirs(project.worktree.common_dir + "/info"));
  return fs.write_file(AT_FDCWD, path, updated, 0644);
}

}  // namespace pfnm
