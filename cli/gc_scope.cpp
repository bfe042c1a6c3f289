#include "cli/gc_scope.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "nmstore/git/repository.hpp"
#include "nmstore/platform/process.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/line_file.hpp"
#include "nmstore/store/reference.hpp"

namespace pfnm {
namespace {

constexpr std::chrono::milliseconds k_remote_limit{15'000};

std::string why_of(const Error& error) { return error.reason.empty() ? std::strerror(error.sys_errno) : error.reason; }

std::string render_locks(const std::vector<Digest>& digests) {
  LineWriter out("locks", 1);
  for (const Digest& digest : digests) out.line({"lock", digest.to_hex()});
  return std::move(out).finish();
}

std::optional<std::vector<Digest>> read_locks(const std::string& path) {
  const auto text = find_file(AT_FDCWD, path);
  if (!text.has_value() || !*text) return std::nullopt;
  const auto lines = parse_lines(**text, "locks", 1, path);
  if (!lines.has_value()) return std::nullopt;
  std::vector<Digest> digests;
  for (const Line& line : *lines) {
    const auto digest = line.size() == 2 ? Digest::parse(line[1]) : std::nullopt;
    if (!digest) return std::nullopt;
    digests.push_back(*digest);
  }
  return digests;
}

class ScopeSurvey {
 public:
  explicit ScopeSurvey(const GcScopeSource& source) : source_(source) {}

  GcScope run() {
    collect_places();
    for (const auto& [repository, volume] : repositories_) take_repository(repository, volume);
    for (const auto& [root, volume] : roots_) take_root(root, volume);
    scope_.scan.below.assign(below_.begin(), below_.end());
    scope_.scan.worktrees.assign(worktrees_.begin(), worktrees_.end());
    keep_memos();
    return std::move(scope_);
  }

 private:
  void blind(const std::string& what, const std::string& path, const std::string& why) {
    scope_.blind.push_back({what, path, why});
  }

  void collect_places() {
    const auto places = list_places(source_.store);
    const auto references = list_references(source_.store);
    if (!places.has_value()) blind("the known places of", source_.store.paths.root(), why_of(places.error()));
    if (!references.has_value()) blind("the references of", source_.store.paths.root(), why_of(references.error()));
    if (places.has_value())
      for (const KnownPlace& place : *places) add(place);
    if (references.has_value())
      for (const Reference& reference : *references) add(place_of(reference));
    for (const std::string& root : source_.settings.roots) roots_.emplace(root, "");
  }

  void add(const KnownPlace& place) {
    if (!place.repository.empty()) repositories_.emplace(place.repository, place.volume);
    roots_.emplace(place.root, place.volume);
    below_.insert(place.below);
  }

  // True where it is there. One that is certainly gone needs no look; one that may be unmounted blinds.
  bool is_there(const std::string& what, const std::string& path, const std::string& volume) {
    const auto st = find_stat(AT_FDCWD, path);
    if (!st.has_value()) {
      blind(what, path, why_of(st.error()));  // guard:unreadable-root
      return false;
    }
    if (*st) return true;
    if (survey_absence(path, volume) == Absence::unmounted)
      blind(what, path, "it is not there, and its file system may just not be mounted");
    return false;
  }

  void take_root(const std::string& root, const std::string& volume) {
    if (is_there("the root", root, volume)) scope_.scan.roots.push_back(root);
  }

  void take_repository(const std::string& repository, const std::string& volume) {
    if (!is_there("the repository", repository, volume)) return;
    const auto worktrees = list_worktree_roots(repository);
    if (!worktrees.has_value()) return blind("the worktrees of", repository, why_of(worktrees.error()));
    worktrees_.insert(worktrees->begin(), worktrees->end());
    const auto commits = default_branch_commits(source_.git, repository, k_remote_limit);
    if (!commits.has_value()) return blind("the default branch of", repository, why_of(commits.error()));
    for (const std::string& commit : *commits) take_commit(repository, commit);
  }

  void take_commit(const std::string& repository, const std::string& commit) {
    const std::string memo =
        source_.store.paths.memo("locks", sha256(repository + "\n" + commit).to_hex().substr(0, 32));
    auto digests = read_locks(memo);
    if (!digests) {
      auto asked = lock_digests(source_.git, repository, commit);
      if (!asked.has_value()) return blind("the default branch of", repository, why_of(asked.error()));
      digests = std::move(*asked);
      memos_.emplace_back(memo, render_locks(*digests));
    }
    for (const Digest& digest : *digests) scope_.default_locks.emplace_back(digest, repository);
  }

  void keep_memos() {
    if (memos_.empty() || source_.memos == KeepMemos::no) return;
    const auto write = [fs = source_.fs, memos = memos_] {
      for (const auto& [path, text] : memos) std::ignore = fs.write_file(AT_FDCWD, path, text, 0600);  // a cache
    };
    if (source_.memos == KeepMemos::yes) return write();
    std::ignore = run_detached([&](int) { write(); });
  }

  const GcScopeSource& source_;
  std::map<std::string, std::string> repositories_;  // to the volume that its worktrees were on
  std::map<std::string, std::string> roots_;
  std::set<std::string> below_;
  std::set<std::string> worktrees_;
  std::vector<std::pair<std::string, std::string>> memos_;
  GcScope scope_;
};

}  // namespace

GcScope survey_gc_scope(const GcScopeSource& source) { return ScopeSurvey(source).run(); }

std::vector<std::string> known_repositories(const Store& store) {
  std::set<std::string> repositories;
  if (const auto places = list_places(store); places.has_value())
    for (const KnownPlace& place : *places) repositories.insert(place.repository);
  if (const auto references = list_references(store); references.has_value())
    for (const Reference& reference : *references) repositories.insert(reference.repository);
  repositories.erase("");
  return {repositories.begin(), repositories.end()};
}

std::vector<std::string> probe_scratches(const Store& store, const std::vector<std::string>& repositories) {
  std::vector<std::string> scratches{store.paths.probe()};
  std::set<std::uint64_t> seen;
  if (const auto st = stat_at(AT_FDCWD, store.paths.meta()); st.has_value()) seen.insert(st->dev);
  for (const std::string& repository : repositories) {
    const auto st = find_stat(AT_FDCWD, repository);
    if (st.has_value() && *st && seen.insert((*st)->dev).second) scratches.push_back(repository + "/pfnm-probe");
  }
  return scratches;
}

}  // namespace pfnm
