#include "nmstore/reclaim/gc_survey.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "nmstore/platform/file_lock.hpp"
#include "nmstore/platform/mounts.hpp"
#include "nmstore/platform/process_uses.hpp"
#include "nmstore/store/line_file.hpp"
#include "nmstore/store/seal.hpp"

namespace pfnm {
namespace {

std::string why_of(const Error& error) { return error.reason.empty() ? std::strerror(error.sys_errno) : error.reason; }

Held held(const std::string& lock) {
  const auto state = FileLock::survey(lock);
  if (!state.has_value()) return Held::unknown;
  return *state == LockState::held ? Held::yes : Held::no;
}

// When the build began; 0 where there is no intent of ours.
std::int64_t build_started(const std::string& install) {
  const auto text = find_file(AT_FDCWD, intent_file(install));
  if (!text.has_value() || !*text) return 0;
  const auto lines = parse_lines(**text, "intent", 1, install);
  const auto there = stat_at(AT_FDCWD, intent_file(install));
  std::int64_t started = there.has_value() ? there->mtime_ns / 1'000'000'000LL : 0;
  if (!lines.has_value()) return started;
  for (const Line& line : *lines)
    if (line.size() == 2 && line[0] == "started") started = std::max(started, parse_i64(line[1]).value_or(0));
  return started;
}

class Surveyor {
 public:
  Surveyor(const Store& store, const GcScope& scope, const std::optional<InstallName>& only)
      : store_(store), scope_(scope), only_(only) {}

  GcFacts run() {
    facts_.blind = scope_.blind;
    // The order matters: installs before those who use them. One that is referenced while this runs is seen as used;
    // the other way round it would be seen as unused.
    take_installs();
    take_references();
    take_markers();
    take_processes();
    take_default_branches();
    take_mounts();
    take_trash();
    if (auto space = volume_space(store_.paths.root()); space.has_value()) facts_.space = *space;
    for (auto& [name, install] : installs_) facts_.installs.push_back(std::move(install));
    return std::move(facts_);
  }

 private:
  void blind(const std::string& what, const std::string& path, const Error& error) {
    facts_.blind.push_back({what, path, why_of(error)});
  }

  bool wanted(const InstallName& name) const { return !only_ || *only_ == name; }

  void take_installs() {
    const auto sealed = sealed_installs(store_);
    if (!sealed.has_value()) return blind("the seals of", store_.paths.root(), sealed.error());
    for (const InstallName& name : *sealed)
      if (wanted(name)) take_sealed(name);
    const auto entries = list_dir_at(AT_FDCWD, store_.paths.root());
    if (!entries.has_value()) return blind("the store", store_.paths.root(), entries.error());
    for (const DirEntry& entry : *entries) {
      const auto name = InstallName::parse(entry.name);
      if (name && wanted(*name) && !installs_.contains(name->text) && entry.type == FileType::directory)
        take_unsealed(*name);
    }
  }

  void take_sealed(const InstallName& name) {
    const auto seal = find_seal(store_.paths, name);
    if (!seal.has_value()) return blind("the seal of", store_.paths.install(name), seal.error());
    if (!*seal) return;  // reclaimed meanwhile
    InstallFacts install;
    install.name = name;
    install.made_at = (*seal)->sealed_at;
    install.bytes = (*seal)->bytes;
    install.entries = (*seal)->entries;
    const auto st = find_stat(AT_FDCWD, store_.paths.install(name));
    if (!st.has_value()) return blind("the install", store_.paths.install(name), st.error());
    if (!*st) {
      install.place = InstallFacts::Place::missing;
    } else if (!(*st)->is_dir()) {
      install.place = InstallFacts::Place::not_directory;
    }
    add(std::move(install));
  }

  void take_unsealed(const InstallName& name) {
    InstallFacts install;
    install.name = name;
    install.place = InstallFacts::Place::unsealed;
    install.made_at = build_started(store_.paths.install(name));
    if (install.made_at > 0) add(std::move(install));  // without our intent it is foreign, and no business of ours
  }

  void add(InstallFacts install) {
    const auto leased = last_leased(store_, install.name);
    install.last_leased = leased.value_or(0);
    if (!leased.has_value()) blind("the lease of", install.name.text, leased.error());
    install.leased = only_ ? Held::no : held(store_.paths.lease(install.name));
    install.building = only_ ? Held::no : held(store_.paths.build_lock(install.name));
    installs_.emplace(install.name.text, std::move(install));
  }

  void take_references() {
    const auto references = list_references(store_);
    if (!references.has_value()) return blind("the references of", store_.paths.root(), references.error());
    for (const Reference& reference : *references) {
      const auto install = installs_.find(reference.install.text);
      if (install == installs_.end() && only_) continue;
      const ReferenceFact fact = survey_announced(reference);
      if (install != installs_.end()) install->second.references.push_back(fact);
      facts_.references.emplace_back(reference, fact);
    }
  }

  void take_markers() {
    ReferenceScan scan = scan_for_markers(scope_.scan);
    facts_.blind.insert(facts_.blind.end(), scan.blind.begin(), scan.blind.end());
    for (const FoundMarker& found : scan.found) {
      if (found.marker.state == Marker::State::unreadable) {
        facts_.blind.push_back({"the marker in", found.directory, found.marker.why});
        continue;
      }
      for (const std::string& key : found.marker.keys) {
        const bool exact = found.marker.match == Marker::Match::exact;
        const std::string prefix = exact ? key : key.substr(0, 64);
        for (auto at = installs_.lower_bound(prefix); at != installs_.end() && at->first.starts_with(prefix); ++at)
          if (found.marker.matches(at->second.name)) add_marker(found.directory, at->second);
      }
    }
  }

  // A worktree that was announced is known already.
  static void add_marker(const std::string& directory, InstallFacts& install) {
    const std::string place =
        directory.ends_with("/node_modules") ? directory.substr(0, directory.size() - 13) : directory;
    const auto same = [&](const ReferenceFact& fact) { return fact.path == place; };
    const auto known = std::find_if(install.references.begin(), install.references.end(), same);
    if (known == install.references.end()) {
      install.references.push_back({place, Liveness::live, {}, 0});
    } else {
      known->liveness = Liveness::live;
    }
  }

  void take_processes() {
    const auto survey = survey_processes([](std::string_view path) { return !key_in_path(path).empty(); });
    if (!survey.has_value()) return blind("the list of", "processes", survey.error());
    facts_.hidden_processes = survey->hidden;
    for (const ProcessUse& use : survey->uses) {
      const auto install = installs_.find(std::string(key_in_path(use.path)));
      if (install == installs_.end()) continue;
      install->second.processes.push_back("process " + std::to_string(use.pid) + " " + std::string(use_word(use.kind)) +
                                          ": " + use.path);
    }
  }

  void take_default_branches() {
    for (const auto& [digest, repository] : scope_.default_locks) {
      const std::string prefix = digest.to_hex();
      for (auto at = installs_.lower_bound(prefix); at != installs_.end() && at->first.starts_with(prefix); ++at)
        at->second.default_branches.push_back(repository);
    }
  }

  void take_mounts() {
    const auto mounts = list_mounts();
    if (!mounts.has_value()) return blind("the list of", "mounts", mounts.error());
    for (const Mount& mount : *mounts) {
      const auto install = installs_.find(std::string(key_in_path(mount.mount_point)));
      if (install != installs_.end()) install->second.mounted_inside.push_back(mount.mount_point);
    }
  }

  void take_trash() {
    if (only_) return;
    auto trash = list_trash(store_);
    if (!trash.has_value()) return blind("the trash of", store_.paths.root(), trash.error());
    facts_.trash = std::move(*trash);
  }

  const Store& store_;
  const GcScope& scope_;
  const std::optional<InstallName>& only_;
  std::map<std::string, InstallFacts> installs_;
  GcFacts facts_;
};

}  // namespace

GcFacts survey_gc(const Store& store, const GcScope& scope, const std::optional<InstallName>& only) {
  return Surveyor(store, scope, only).run();
}

}  // namespace pfnm
