#include "nmstore/layout/links.hpp"

#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "nmstore/layout/container.hpp"
#include "nmstore/layout/copy_tree.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

constexpr const char* k_root_container = "node_modules";

// In the past and in whole seconds, which every file system can hold: anything that happens to the directory from now
// on gives it another mtime.
std::int64_t standing_mtime() { return (::time(nullptr) - 10) * 1'000'000'000LL; }

std::vector<OwnEntry> own_entries(const std::string& project, const LayoutPlan& plan) {
  std::vector<OwnEntry> own;
  for (const PlanDir& dir : plan.dirs) {
    if (dir.kind == PlanDirKind::writable || !container_wanted(project, dir.path)) continue;
    for (const PlanItem& item : dir.items) {
      const std::string path = dir.path + "/" + item.name;
      switch (item.op) {
        case PlanOp::hop_link:
          break;
        case PlanOp::workspace_link:
          own.push_back({OwnKind::workspace_link, path, item.target});
          break;
        case PlanOp::workspace_bin:
          own.push_back({OwnKind::workspace_bin, path, "bin"});
          break;
        case PlanOp::copy:
          own.push_back({OwnKind::copy, path, item.identity});
          break;
      }
    }
  }
  return own;
}

Record finished_record(const LinkTarget& target) {
  Record record = target.record;
  record.layout = Layout::links;
  record.own = own_entries(target.project, target.plan);
  record.dirs.clear();
  const std::int64_t mtime = standing_mtime();
  for (const PlanDir& dir : target.plan.dirs)
    if (dir.kind == PlanDirKind::managed && container_wanted(target.project, dir.path))
      record.dirs.push_back({dir.path, mtime});
  return record;
}

// Makes the items of one directory. `copies_stage` is where a copy is built before it gets its name.
class ItemMaker {
 public:
  ItemMaker(const Fs& fs, const LinkTarget& target, std::string copies_stage)
      : fs_(fs), target_(target), copies_stage_(std::move(copies_stage)) {}

  Status make(int dir_fd, const PlanItem& item) const {
    switch (item.op) {
      case PlanOp::hop_link:
      case PlanOp::workspace_link:
        return fs_.make_symlink(item.target, dir_fd, item.name);
      case PlanOp::workspace_bin:
        return make_bin(dir_fd, item);
      case PlanOp::copy:
        return make_copy(dir_fd, item);
    }
    return {};
  }

 private:
  Status make_bin(int dir_fd, const PlanItem& item) const {
    const BinForm form = survey_bin(target_.project, item);
    switch (form.kind) {
      case BinForm::Kind::link:
        return fs_.make_symlink(form.content, dir_fd, item.name);
      case BinForm::Kind::wrapper:
        return fs_.create_file(dir_fd, item.name, form.content, 0755);
      case BinForm::Kind::none:
        break;
    }
    return {};
  }

  // A copy that has its name is whole.
  Status make_copy(int dir_fd, const PlanItem& item) const {
    const auto source = target_.manifest.find(item.target);
    if (!source) return fail(Error::make(Errc::corrupt, "copy", item.target, "the manifest does not have it"));
    const std::string staged = copies_stage_ + "/" + unique_name("copy-");
    PFNM_TRY(copy_subtree(fs_, {target_.install, target_.manifest, source->index, staged, {}, {}}));
    return fs_.rename(AT_FDCWD, staged, dir_fd, item.name);
  }

  const Fs& fs_;
  const LinkTarget& target_;
  std::string copies_stage_;
};

Status place_layout_lock(const Fs& fs, const LinkTarget& target, const std::string& modules) {
  const std::string staged = modules + "/.pf/" + unique_name("lock-");
  PFNM_TRY(fs.copy_file(AT_FDCWD, layout_lock_file(target.install), AT_FDCWD, staged, 0644));
  PFNM_TRY(fs.set_mtime(AT_FDCWD, staged, k_layout_lock_mtime_ns));
  return fs.rename(AT_FDCWD, staged, AT_FDCWD, modules + "/.package-lock.json");
}

Status make_writable_dirs(const Fs& fs, const LinkTarget& target, const std::string& modules) {
  for (const char* name : k_writable_dirs) PFNM_TRY(fs.ensure_dir(AT_FDCWD, modules + "/" + name));
  for (const std::string& name : target.record.settings.writable)
    PFNM_TRY(fs.ensure_dirs(modules + "/" + name));
  return {};
}

// The record gets its name last of all; only then do directories get the mtimes it speaks of (root last, since the
// rename itself moves the root's).
Status finish(const Fs& fs, const std::string& project, const Record& record) {
  const std::string modules = project + "/" + k_root_container;
  for (const StandingDir& dir : record.dirs)
    if (dir.path != k_root_container) PFNM_TRY(fs.set_mtime(AT_FDCWD, project + "/" + dir.path, dir.mtime_ns));
  PFNM_TRY(fs.rename(AT_FDCWD, modules + "/" + k_relink_intent, AT_FDCWD, modules + "/" + k_record));
  return fs.set_mtime(AT_FDCWD, modules, record.dirs.front().mtime_ns);
}

// --- first link ---------------------------------------------------------------------------------------------------

struct Staged {
  std::string container;  // relative to the project
  std::string path;       // absolute, in the staging directory
};

Status fill_staged_dir(const Fs& fs, const PlanDir& dir, const std::string& path, const ItemMaker& maker) {
  PFNM_TRY(fs.ensure_dir(AT_FDCWD, path));
  if (dir.kind == PlanDirKind::writable) return {};
  PFNM_TRY_ASSIGN(const Fd fd, open_dir_at(AT_FDCWD, path));
  for (const PlanItem& item : dir.items) PFNM_TRY(maker.make(fd.get(), item));
  return {};
}

// The marker is the first thing in the new root (SPEC 3.2).
Status start_root(const Fs& fs, const LinkTarget& target, const std::string& root) {
  PFNM_TRY(fs.make_dir(AT_FDCWD, root));
  PFNM_TRY(fs.make_symlink(k_hop, AT_FDCWD, root + "/" + k_marker));
  PFNM_TRY(fs.make_dir(AT_FDCWD, root + "/" + k_hop_dir));
  PFNM_TRY(fs.make_symlink(k_hop_dir, AT_FDCWD, root + "/" + k_hop_seen));
  return fs.make_symlink(target.install, AT_FDCWD, root + "/" + k_hop);
}

Result<std::vector<Staged>> stage_containers(const Fs& fs, const LinkTarget& target, const std::string& staging,
                                             const Record& record) {
  std::vector<Staged> staged{{k_root_container, staging + "/0"}};
  PFNM_TRY(start_root(fs, target, staged[0].path));
  const ItemMaker maker(fs, target, staged[0].path + "/.pf");
  for (const PlanDir& dir : target.plan.dirs) {
    const std::string container = container_of(dir.path);
    if (!container_wanted(target.project, dir.path)) continue;
    auto at = std::find_if(staged.begin(), staged.end(), [&](const Staged& s) { return s.container == container; });
    if (at == staged.end()) {
      PFNM_TRY_ASSIGN(const auto in_the_way, find_stat(AT_FDCWD, target.project + "/" + container));
      if (in_the_way) continue;  // merged into what is there, after the root has its marker
      staged.push_back({container, staging + "/" + std::to_string(staged.size())});
      at = staged.end() - 1;
    }
    PFNM_TRY(fill_staged_dir(fs, dir, at->path + dir.path.substr(container.size()), maker));
  }
  PFNM_TRY(make_writable_dirs(fs, target, staged[0].path));
  PFNM_TRY(fs.create_file(AT_FDCWD, staged[0].path + "/" + k_relink_intent, render_record(record)));
  PFNM_TRY(place_layout_lock(fs, target, staged[0].path));
  return staged;
}

// --- merging into what is there -----------------------------------------------------------------------------------

struct Merge {
  const Fs& fs;
  const LinkTarget& target;
  const std::vector<OwnEntry>& own;
  const KnownCopies& copies;
  Aside& aside;
  ItemMaker maker;
};

// What is on disk is judged by what stood before: of the new layout's own entries only links and binaries count (they are
// told by their looks as well), never its copies, or a former copy of another version would pass for the new one.
std::vector<OwnEntry> judging_own(const Record& finished, const std::optional<Record>& former) {
  std::vector<OwnEntry> own;
  for (const OwnEntry& entry : finished.own)
    if (entry.kind != OwnKind::copy) own.push_back(entry);
  if (former) own.insert(own.end(), former->own.begin(), former->own.end());
  return own;
}

// A scope that the plan no longer has: our links go, what is not ours is moved aside, the directory goes if it is empty.
Status empty_old_dir(const Merge& merge, const std::string& path) {
  PFNM_TRY_ASSIGN(const auto existing, list_existing(AT_FDCWD, merge.target.project + "/" + path));
  const PlanDir nothing{path, PlanDirKind::managed, {}};
  const ContainerSteps steps = plan_container(
      {merge.target.project, merge.target.plan, nothing, merge.own, merge.target.record.store, {}, {}}, existing);
  for (const std::string& name : steps.remove)
    PFNM_TRY(merge.fs.unlink(AT_FDCWD, merge.target.project + "/" + path + "/" + name));
  for (const std::string& name : steps.aside) PFNM_TRY(merge.aside.move(path + "/" + name));
  for (const std::string& name : steps.old_scopes) PFNM_TRY(empty_old_dir(merge, path + "/" + name));
  auto removed = merge.fs.remove_dir(AT_FDCWD, merge.target.project + "/" + path);
  // A tool's own dot entries may keep it; it is a plain directory then.
  if (!removed.has_value() && removed.error().code != Errc::already_exists) return removed;
  return {};
}

Status merge_dir(const Merge& merge, const PlanDir& dir) {
  const std::string path = merge.target.project + "/" + dir.path;
  PFNM_TRY(merge.fs.ensure_dir(AT_FDCWD, path));
  if (dir.kind == PlanDirKind::writable) return {};
  PFNM_TRY_ASSIGN(const auto existing, list_existing(AT_FDCWD, path));
  const ContainerSteps steps = plan_container(
      {merge.target.project, merge.target.plan, dir, merge.own, merge.target.record.store, merge.copies,
       merge.target.record.settings.writable},
      existing);
  PFNM_TRY_ASSIGN(const Fd fd, open_dir_at(AT_FDCWD, path));
  for (const std::string& name : steps.remove) PFNM_TRY(merge.fs.unlink(fd.get(), name));
  for (const std::string& name : steps.aside) PFNM_TRY(merge.aside.move(dir.path + "/" + name));
  for (const std::string& name : steps.old_scopes) PFNM_TRY(empty_old_dir(merge, dir.path + "/" + name));
  for (const PlanItem* item : steps.create) PFNM_TRY(merge.maker.make(fd.get(), *item));
  return {};
}

Status merge_all(const Merge& merge) {
  for (const PlanDir& dir : merge.target.plan.dirs)
    if (container_wanted(merge.target.project, dir.path)) PFNM_TRY(merge_dir(merge, dir));
  return {};
}

// Directories that the former layout had and the new one has not, deepest first.
Status empty_old_dirs(const Merge& merge, const std::vector<StandingDir>& former) {
  std::vector<std::string> paths;
  for (const StandingDir& dir : former) {
    const bool kept = std::any_of(merge.target.plan.dirs.begin(), merge.target.plan.dirs.end(),
                                  [&](const PlanDir& plan_dir) { return plan_dir.path == dir.path; });
    if (!kept && dir.path != k_root_container) paths.push_back(dir.path);
  }
  std::sort(paths.rbegin(), paths.rend());
  for (const std::string& path : paths) {
    PFNM_TRY_ASSIGN(const auto st, find_stat(AT_FDCWD, merge.target.project + "/" + path));
    if (st && st->is_dir()) PFNM_TRY(empty_old_dir(merge, path));
  }
  return {};
}

// After an interrupted run a copy on disk may be the former or the new one: its content says which.
Result<KnownCopies> survey_copies(const LinkTarget& target) {
  KnownCopies known;
  for (const PlanDir& dir : target.plan.dirs) {
    for (const PlanItem& item : dir.items) {
      if (item.op != PlanOp::copy) continue;
      const std::string path = dir.path + "/" + item.name;
      PFNM_TRY_ASSIGN(const auto st, find_stat(AT_FDCWD, target.project + "/" + path));
      if (!st || st->is_symlink()) continue;
      PFNM_TRY_ASSIGN(const Digest digest, subtree_digest_on_disk(AT_FDCWD, target.project + "/" + path));
      known[path] = digest.to_hex();
    }
  }
  return known;
}

// The union of what was ours and what will be, so that whoever completes this run recognises both.
Record intended_record(const Record& finished, const std::optional<Record>& former) {
  Record intent = finished;
  if (!former) return intent;
  intent.own.insert(intent.own.end(), former->own.begin(), former->own.end());
  for (const StandingDir& dir : former->dirs) intent.dirs.push_back(dir);
  return intent;
}

Status start_relink(const Fs& fs, const LinkTarget& target, const Record& intent) {
  const std::string modules = target.project + "/" + k_root_container;
  PFNM_TRY(fs.ensure_dir(AT_FDCWD, modules + "/" + k_hop_dir));
  PFNM_TRY(fs.write_file(AT_FDCWD, modules + "/" + k_relink_intent, render_record(intent)));
  const auto marker = read_link_at(AT_FDCWD, modules + "/" + k_marker);
  if (!marker.has_value() || *marker != k_hop) PFNM_TRY(fs.replace_symlink(k_hop, AT_FDCWD, modules + "/" + k_marker));
  const auto seen = read_link_at(AT_FDCWD, modules + "/" + k_hop_seen);
  if (!seen.has_value() || *seen != k_hop_dir)
    PFNM_TRY(fs.replace_symlink(k_hop_dir, AT_FDCWD, modules + "/" + k_hop_seen));
  auto removed = fs.unlink(AT_FDCWD, modules + "/" + k_record);
  if (!removed.has_value() && removed.error().sys_errno != ENOENT) return removed;
  const auto hop = read_link_at(AT_FDCWD, modules + "/" + k_hop);
  if (hop.has_value() && *hop == target.install) return {};
  return fs.replace_symlink(target.install, AT_FDCWD, modules + "/" + k_hop);
}

// What interrupted runs left in .pf: staged copies, locks and temporary names.
Status sweep_hop_dir(const Fs& fs, const std::string& project) {
  const std::string hop_dir = project + "/node_modules/" + k_hop_dir;
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, hop_dir));
  for (const DirEntry& entry : entries) {
    if (entry.name.starts_with("copy-") || entry.name.starts_with("lock-") || entry.name.starts_with(".pfnm-tmp-"))
      PFNM_TRY(remove_tree(fs, AT_FDCWD, hop_dir + "/" + entry.name));
  }
  return {};
}

}  // namespace

Status Aside::open() {
  if (!moved_.directory.empty()) return {};
  const std::string base = std::string(k_root_container) + "/" + k_aside_dir;
  PFNM_TRY(fs_.ensure_dir(AT_FDCWD, project_ + "/" + base));
  for (int number = 1;; ++number) {
    const std::string directory = base + "/" + std::to_string(number);
    auto made = fs_.make_dir(AT_FDCWD, project_ + "/" + directory);
    if (!made.has_value() && made.error().sys_errno == EEXIST) continue;
    if (!made.has_value()) return made;
    moved_.directory = directory;
    return {};
  }
}

Status Aside::move(const std::string& path) { return move_from(project_ + "/" + path, path); }

Status Aside::move_from(const std::string& from, const std::string& path) {
  PFNM_TRY(open());
  const std::string destination = project_ + "/" + moved_.directory + "/" + path;
  PFNM_TRY(fs_.ensure_dirs(destination.substr(0, destination.find_last_of('/'))));
  // A read-only directory cannot be moved by its owner (its ".." changes).
  PFNM_TRY_ASSIGN(const FileStat st, stat_at(AT_FDCWD, from));
  if (st.is_dir() && (st.mode & 0200U) == 0U) PFNM_TRY(fs_.set_mode(AT_FDCWD, from, (st.mode & 0777U) | 0200U));
  PFNM_TRY(fs_.rename(AT_FDCWD, from, AT_FDCWD, destination));
  moved_.paths.push_back(path);
  return {};
}

Result<std::string> make_staging(const Fs& fs, const std::string& project, std::string_view prefix) {
  std::string path = project + "/" + unique_name(prefix);
  PFNM_TRY(fs.make_dir(AT_FDCWD, path));
  PFNM_TRY(fs.create_file(AT_FDCWD, path + "/.gitignore", "*\n"));
  return path;
}

Status sweep_staging(const Fs& fs, const std::string& project) {
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, project));
  for (const DirEntry& entry : entries)
    if (entry.type == FileType::directory && entry.name.starts_with(k_staging_prefix))
      PFNM_TRY(remove_tree(fs, AT_FDCWD, project + "/" + entry.name));
  return {};
}

Result<MovedAside> apply_first_link(const Fs& fs, const LinkTarget& target) {
  const Record record = finished_record(target);
  PFNM_TRY_ASSIGN(const std::string staging, make_staging(fs, target.project, k_staging_prefix));
  auto staged = stage_containers(fs, target, staging, record);
  if (!staged.has_value()) {
    std::ignore = remove_tree(fs, AT_FDCWD, staging);  // the staging's error is the news; the next link sweeps
    return fail(staged.error());
  }
  // rename(2) replaces an empty directory and nothing else. The root goes first: it carries the marker, which covers
  // the others.
  for (const Staged& container : *staged)
    PFNM_TRY(fs.rename(AT_FDCWD, container.path, AT_FDCWD, target.project + "/" + container.container));
  PFNM_TRY(remove_tree(fs, AT_FDCWD, staging));
  Aside aside(fs, target.project);
  const KnownCopies no_copies;
  const std::vector<OwnEntry> own = judging_own(record, std::nullopt);
  const Merge merge{fs,    target, own, no_copies,
                    aside, ItemMaker(fs, target, target.project + "/node_modules/.pf")};
  for (const PlanDir& dir : target.plan.dirs) {
    const bool done = std::any_of(staged->begin(), staged->end(),
                                  [&](const Staged& s) { return s.container == container_of(dir.path); });
    if (!done && container_wanted(target.project, dir.path)) PFNM_TRY(merge_dir(merge, dir));
  }
  PFNM_TRY(finish(fs, target.project, record));
  return aside.moved();
}

Result<MovedAside> apply_relink(const Fs& fs, const LinkTarget& target, const TreeSurvey& survey) {
  const Record finished = finished_record(target);
  const Record intent = intended_record(finished, survey.record);
  KnownCopies copies;
  if (survey.state == TreeState::unfinished) {
    PFNM_TRY_ASSIGN(copies, survey_copies(target));
  }
  PFNM_TRY(start_relink(fs, target, intent));
  PFNM_TRY(sweep_hop_dir(fs, target.project));
  Aside aside(fs, target.project);
  // After an interruption the record may name both; then the disk was looked at (copies).
  const std::vector<OwnEntry> own = judging_own(finished, survey.record);
  const Merge merge{fs,    target, own, copies,
                    aside, ItemMaker(fs, target, target.project + "/node_modules/.pf")};
  PFNM_TRY(merge_all(merge));
  if (survey.record) PFNM_TRY(empty_old_dirs(merge, survey.record->dirs));
  PFNM_TRY(make_writable_dirs(fs, target, target.project + "/node_modules"));
  PFNM_TRY(place_layout_lock(fs, target, target.project + "/node_modules"));
  PFNM_TRY(fs.write_file(AT_FDCWD, target.project + "/node_modules/" + k_relink_intent, render_record(finished)));
  PFNM_TRY(finish(fs, target.project, finished));
  return aside.moved();
}

}  // namespace pfnm
