#include "nmstore/git/project.hpp"

#include <fcntl.h>

#include <array>

#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

std::string parent_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return {};
  return slash == 0 ? (path.size() > 1 ? "/" : "") : path.substr(0, slash);
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find_first_of("\r\n")); }

std::string absolute(const std::string& base, std::string_view path) {
  return path.starts_with('/') ? std::string(path) : base + "/" + std::string(path);
}

Result<Worktree> worktree_at(const std::string& root, const FileStat& dot_git) {
  Worktree worktree;
  worktree.root = root;
  const std::string entry = root + "/.git";
  const auto broken = [&] {
    return fail(Error::make(Errc::bad_input, "use the worktree", root, "its .git does not lead to a repository",
                            "git worktree repair, run in the main checkout, mends a moved worktree"));
  };
  if (dot_git.is_regular()) {
    PFNM_TRY_ASSIGN(const std::string text, read_file(AT_FDCWD, entry));
    const std::string_view line = first_line(text);
    if (!line.starts_with("gitdir: ")) return broken();
    auto resolved = real_path(absolute(root, line.substr(8)));
    if (!resolved.has_value()) return broken();
    worktree.git_dir = std::move(*resolved);
  } else {
    PFNM_TRY_ASSIGN(worktree.git_dir, real_path(entry));
  }
  PFNM_TRY_ASSIGN(const auto head, find_stat(AT_FDCWD, worktree.git_dir + "/HEAD"));
  if (!head) return broken();
  PFNM_TRY_ASSIGN(const auto common, find_file(AT_FDCWD, worktree.git_dir + "/commondir"));
  worktree.common_dir = worktree.git_dir;
  if (common) {
    auto resolved = real_path(absolute(worktree.git_dir, first_line(*common)));
    if (!resolved.has_value()) return broken();
    worktree.common_dir = std::move(*resolved);
  }
  return worktree;
}

// Only the plainest spellings; anything cleverer is git's to judge.
enum class Verdict { ignores, may_unignore, says_nothing };
Verdict judge_patterns(std::string_view text) {
  Verdict verdict = Verdict::says_nothing;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (line.starts_with('!')) return Verdict::may_unignore;
    if (line == "node_modules" || line == "node_modules/" || line == "**/node_modules" || line == "**/node_modules/")
      verdict = Verdict::ignores;
  }
  return verdict;
}

}  // namespace

Result<Worktree> find_worktree(const std::string& directory) {
  PFNM_TRY_ASSIGN(std::string at, real_path(directory));
  for (; !at.empty(); at = parent_of(at)) {
    PFNM_TRY_ASSIGN(const auto dot_git, find_stat(AT_FDCWD, at + "/.git"));
    if (dot_git) return worktree_at(at, *dot_git);
  }
  return fail(Error::make(Errc::bad_input, "find the worktree of", directory, "not a git repository",
                          "pfnm provisions git worktrees; run it inside one"));
}

Result<Project> find_project(const std::string& directory) {
  Project project;
  PFNM_TRY_ASSIGN(project.worktree, find_worktree(directory));
  PFNM_TRY_ASSIGN(std::string at, real_path(directory));
  while (true) {
    for (const char* name : {"npm-shrinkwrap.json", "package-lock.json"}) {
      PFNM_TRY_ASSIGN(const auto lock, find_stat(AT_FDCWD, at + "/" + name));
      if (!lock) continue;
      project.root = at;
      project.lock_name = name;
      return project;
    }
    if (at == project.worktree.root || at.empty()) break;
    at = parent_of(at);
  }
  return fail(Error::make(Errc::bad_input, "find the lock of", directory,
                          "there is no package-lock.json here or above, up to the worktree's root",
                          "npm install --package-lock-only makes one"));
}

NodeModulesIgnored survey_ignored(const Worktree& worktree) {
  bool ignored = false;
  for (const std::string& path : {worktree.root + "/.gitignore", worktree.common_dir + "/info/exclude"}) {
    const auto text = find_file(AT_FDCWD, path);
    if (!text.has_value()) return NodeModulesIgnored::unsure;
    if (!*text) continue;
    const Verdict verdict = judge_patterns(**text);
    if (verdict == Verdict::may_unignore) return NodeModulesIgnored::unsure;
    if (verdict == Verdict::ignores) ignored = true;
  }
  return ignored ? NodeModulesIgnored::yes : NodeModulesIgnored::unsure;
}

}  // namespace pfnm
