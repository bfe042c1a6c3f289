#include "nmstore/git/repository.hpp"

#include <fcntl.h>

#include <algorithm>
#include <string_view>

#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

std::string parent_of(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

std::string trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return std::string(text);
}

std::vector<std::string> lines_of(std::string_view text, char end) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto at = text.find(end);
    if (at != 0) lines.emplace_back(text.substr(0, at));
    text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  }
  return lines;
}

tl::unexpected<Error> undetermined(const std::string& common_dir, const std::string& why) {
  return fail(Error::make(Errc::not_found, "determine the default branch of", common_dir, why,
                          "git remote set-head origin --auto, run in it, records it"));
}

class DefaultBranch {
 public:
  DefaultBranch(const GitCli& git, const std::string& common_dir, std::chrono::milliseconds time_limit)
      : git_(git), common_dir_(common_dir), time_limit_(time_limit) {}

  Result<std::vector<std::string>> commits() {
    // The usual case in one process.
    PFNM_TRY_ASSIGN(const auto known,
                    ask({"for-each-ref", "--format=%(refname) %(objectname)", "refs/remotes/origin/HEAD",
                         "refs/heads/main", "refs/heads/master"}));
    if (!known.ok()) return undetermined(common_dir_, trimmed(known.err));
    std::vector<std::string> local;
    for (const std::string& line : lines_of(known.out, '\n')) {
      const auto space = line.find(' ');
      if (line.starts_with("refs/remotes/")) return std::vector<std::string>{line.substr(space + 1)};
      local.push_back(line.substr(space + 1));
    }
    PFNM_TRY_ASSIGN(const auto listed, ask({"remote"}));
    if (!listed.ok()) return undetermined(common_dir_, trimmed(listed.err));
    auto remotes = lines_of(listed.out, '\n');
    if (remotes.empty()) return own_head(std::move(local));
    if (std::find(remotes.begin(), remotes.end(), "origin") != remotes.end()) remotes = {"origin"};
    std::vector<std::string> commits;
    for (const std::string& remote : remotes) {
      PFNM_TRY_ASSIGN(auto commit, commit_of_remote(remote));
      if (commit) commits.push_back(std::move(*commit));
    }
    return commits;
  }

 private:
  Result<ChildResult> ask(const std::vector<std::string>& arguments) {
    return run_git_within(git_, common_dir_, arguments, time_limit_);
  }

  // Nothing: no such ref, or it leads to none. Anything that git says besides is a reason not to know (DESIGN,
  // decision 3).
  Result<std::optional<std::string>> commit_of(const std::string& ref) {
    PFNM_TRY_ASSIGN(const auto asked, ask({"rev-parse", "--verify", "--quiet", ref + "^{commit}"}));
    if (asked.exit_code == 1 && asked.err.empty()) return std::optional<std::string>{};
    if (!asked.ok() || !asked.err.empty()) return undetermined(common_dir_, trimmed(asked.err));
    return std::optional<std::string>{trimmed(asked.out)};
  }

  // A repository that others clone from: its HEAD is what they get. A main checkout that is on another branch right now
  // does not make main one that may be forgotten.
  Result<std::vector<std::string>> own_head(std::vector<std::string> local) {
    PFNM_TRY_ASSIGN(const auto head, commit_of("HEAD"));
    if (head && std::find(local.begin(), local.end(), *head) == local.end()) local.push_back(*head);
    return local;
  }

  Result<std::optional<std::string>> commit_of_remote(const std::string& remote) {
    if (remote != "origin") {
      PFNM_TRY_ASSIGN(auto known, commit_of("refs/remotes/" + remote + "/HEAD"));
      if (known) return known;
    }
    PFNM_TRY_ASSIGN(const auto answer, ask({"ls-remote", "--symref", "--", remote, "HEAD"}));
    if (answer.timed_out) return undetermined(common_dir_, "the remote " + remote + " does not answer");
    if (!answer.ok()) return undetermined(common_dir_, "the remote " + remote + " says: " + trimmed(answer.err));
    if (trimmed(answer.out).empty()) return std::optional<std::string>{};  // a remote without a commit
    // "ref: refs/heads/main<TAB>HEAD"
    constexpr std::string_view k_prefix = "ref: refs/heads/";
    const std::string_view text = answer.out;
    if (!text.starts_with(k_prefix) || text.find('\t') == std::string_view::npos)
      return undetermined(common_dir_, "the remote " + remote + " names no branch");
    const std::string branch(text.substr(k_prefix.size(), text.find('\t') - k_prefix.size()));
    PFNM_TRY_ASSIGN(auto commit, commit_of("refs/remotes/" + remote + "/" + branch));
    if (!commit) return undetermined(common_dir_, remote + "/" + branch + ", its default branch, was never fetched");
    return commit;
  }

  const GitCli& git_;
  const std::string& common_dir_;
  std::chrono::milliseconds time_limit_;
};

// "<mode> SP <type> SP <object> TAB <path>"
std::optional<std::string> lock_object(const std::string& line) {
  const auto tab = line.find('\t');
  if (tab == std::string::npos) return std::nullopt;
  const std::string_view path = std::string_view(line).substr(tab + 1);
  const std::string_view name = path.substr(path.find_last_of('/') == std::string_view::npos ? 0 : path.find_last_of('/') + 1);
  if (name != "package-lock.json" && name != "npm-shrinkwrap.json") return std::nullopt;
  const auto fields = lines_of(std::string_view(line).substr(0, tab), ' ');
  if (fields.size() != 3 || fields[1] != "blob") return std::nullopt;
  return fields[2];
}

}  // namespace

Result<std::vector<std::string>> list_worktree_roots(const std::string& common_dir) {
  std::vector<std::string> roots;
  if (common_dir.ends_with("/.git")) roots.push_back(parent_of(common_dir));
  const std::string admin = common_dir + "/worktrees";
  PFNM_TRY_ASSIGN(const auto there, find_stat(AT_FDCWD, admin));
  if (!there) return roots;
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, admin));
  for (const DirEntry& entry : entries) {
    PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, admin + "/" + entry.name + "/gitdir"));
    if (!text) continue;  // being removed
    std::string dot_git = trimmed(*text);
    if (!dot_git.starts_with('/')) dot_git = admin + "/" + entry.name + "/" + dot_git;
    if (!dot_git.ends_with("/.git")) continue;
    std::string root = parent_of(dot_git);
    const auto resolved = real_path(root);  // a relative one goes up and down again
    roots.push_back(resolved.has_value() ? *resolved : std::move(root));
  }
  return roots;
}

Result<std::vector<std::string>> default_branch_commits(const GitCli& git, const std::string& common_dir,
                                                        std::chrono::milliseconds time_limit) {
  return DefaultBranch(git, common_dir, time_limit).commits();
}

Result<std::vector<Digest>> lock_digests(const GitCli& git, const std::string& common_dir, const std::string& commit) {
  std::vector<Digest> digests;
  PFNM_TRY_ASSIGN(const auto listed, run_git(git, common_dir, {"ls-tree", "-r", "-z", "--full-tree", commit}));
  if (!listed.ok() || !listed.err.empty()) return undetermined(common_dir, trimmed(listed.err));
  for (const std::string& line : lines_of(listed.out, '\0')) {
    const auto object = lock_object(line);
    if (!object) continue;
    PFNM_TRY_ASSIGN(const auto blob, run_git(git, common_dir, {"cat-file", "blob", *object}));
    if (!blob.ok() || !blob.err.empty()) return undetermined(common_dir, trimmed(blob.err));
    digests.push_back(sha256_text(blob.out));
  }
  std::sort(digests.begin(), digests.end());
  digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
  return digests;
}

}  // namespace pfnm
