#include "nmstore/layout/private_copy.hpp"

#include <fcntl.h>

#include <algorithm>

#include "nmstore/layout/container.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/line_file.hpp"

namespace pfnm {
namespace {

constexpr std::string_view k_exchange_prefix = ".pfnm-old-";
constexpr const char* k_root_container = "node_modules";

// One node_modules of the project. `slot` is its name in the staging directory; a fresh copy is told from what it was
// exchanged with by its inode.
struct Container {
  std::string path;  // relative to the project
  std::string slot;
  std::uint64_t fresh_ino = 0;
};

std::vector<Container> containers_of(const LinkTarget& target) {
  std::vector<Container> containers;
  for (const PlanDir& dir : target.plan.dirs) {
    const std::string path = container_of(dir.path);
    const bool known =
        std::any_of(containers.begin(), containers.end(), [&](const Container& c) { return c.path == path; });
    if (!known && container_wanted(target.project, dir.path))
      containers.push_back({path, std::to_string(containers.size()), 0});
  }
  return containers;
}

// Binaries of workspaces: npm makes them from the worktree's files, the install cannot have them.
Status add_workspace_bins(const Fs& fs, const LinkTarget& target, const Container& container,
                          const std::string& staged) {
  for (const PlanDir& dir : target.plan.dirs) {
    if (container_of(dir.path) != container.path) continue;
    for (const PlanItem& item : dir.items) {
      if (item.op != PlanOp::workspace_bin) continue;
      const BinForm form = survey_bin(target.project, item);
      const std::string path = staged + dir.path.substr(container.path.size());
      if (form.kind == BinForm::Kind::none) continue;
      PFNM_TRY(fs.ensure_dirs(path));
      if (form.kind == BinForm::Kind::link) PFNM_TRY(fs.make_symlink(form.content, AT_FDCWD, path + "/" + item.name));
      if (form.kind == BinForm::Kind::wrapper)
        PFNM_TRY(fs.create_file(AT_FDCWD, path + "/" + item.name, form.content, 0755));
    }
  }
  return {};
}

Result<CopyReport> stage_container(const Fs& fs, const LinkTarget& target, const Container& container,
                                   const std::string& staged,
                                   const std::function<void(const CopyReport&)>& progress) {
  const auto source = target.manifest.find(container.path);
  if (!source) {
    // Only workspace binaries live here.
    PFNM_TRY(fs.make_dir(AT_FDCWD, staged));
    PFNM_TRY(add_workspace_bins(fs, target, container, staged));
    return CopyReport{};
  }
  // npm trusts its hidden lock only while no directory is newer: it is made last.
  const auto choose = [&](const ManifestView::Entry& entry, const std::string& path) {
    return path == "node_modules/.package-lock.json" && entry.type == FileType::regular ? CopyChoice::leave_out
                                                                                      : CopyChoice::copy;
  };
  PFNM_TRY_ASSIGN(const CopyReport report,
                  copy_subtree(fs, {target.install, target.manifest, source->index, staged, choose, progress}));
  PFNM_TRY(add_workspace_bins(fs, target, container, staged));
  return report;
}

// An early no is better than a full disk; where files can share blocks the size does not matter.
Status check_space(const Fs& fs, const LinkTarget& target, const std::string& staging) {
  std::uint64_t needed = 0;
  std::optional<EntryIndex> sample;
  for (EntryIndex index = 0; index < target.manifest.size(); ++index) {
    const auto entry = target.manifest.at(index);
    if (entry.type != FileType::regular) continue;
    needed += entry.size;
    if (!sample && entry.size > 0) sample = index;
  }
  PFNM_TRY_ASSIGN(const VolumeSpace space, volume_space(staging));
  if (space.available_bytes > needed || !sample) return {};
  const std::string probe = staging + "/probe";
  auto copied = fs.copy_file(AT_FDCWD, target.install + "/" + target.manifest.path_of(*sample), AT_FDCWD, probe, 0600);
  if (copied.has_value()) PFNM_TRY(fs.unlink(AT_FDCWD, probe));
  if (copied.has_value() && *copied == CopiedBy::reflink) return {};
  return fail(Error::make(Errc::no_space, "make a private copy in", target.project,
                          std::to_string(needed >> 20U) + " MiB are needed, " +
                              std::to_string(space.available_bytes >> 20U) + " MiB are free"));
}

Status write_exchange_list(const Fs& fs, const std::string& staging, std::vector<Container>& containers) {
  LineWriter out("exchange", 1);
  for (Container& container : containers) {
    PFNM_TRY_ASSIGN(const FileStat st, stat_at(AT_FDCWD, staging + "/" + container.slot));
    container.fresh_ino = st.ino;
    out.line({"container", container.slot, std::to_string(st.ino), container.path});
  }
  return fs.create_file(AT_FDCWD, staging + "/exchange", std::move(out).finish());
}

Status swap_in(const Fs& fs, const std::string& project, const std::string& staging, const Container& container) {
  const std::string fresh = staging + "/" + container.slot;
  const std::string final_path = project + "/" + container.path;
  PFNM_TRY_ASSIGN(const auto st, find_stat(AT_FDCWD, final_path));
  if (!st) return fs.rename(AT_FDCWD, fresh, AT_FDCWD, final_path);
  return fs.exchange(AT_FDCWD, fresh, AT_FDCWD, final_path);
}

// --- carrying over ------------------------------------------------------------------------------------------------

// Whether what stands where something is carried to can only be the copy just made. After a crash somebody may have
// worked in the private tree meanwhile: then it stays, and what is carried over is moved aside.
enum class Standing { fresh, maybe_used };

struct CarryOver {
  const Fs& fs;
  const std::string& project;
  const std::string& store;
  const std::vector<OwnEntry>& own;
  std::vector<std::string> writable;
  Aside& aside;
  Standing standing;
};

bool is_bookkeeping(std::string_view name) {
  return name == k_marker || name == k_record || name == k_hop_dir || name == k_hop_seen ||
         name == ".package-lock.json";
}

bool owns(const CarryOver& carry, OwnKind kind, const std::string& path) {
  return std::any_of(carry.own.begin(), carry.own.end(),
                     [&](const OwnEntry& entry) { return entry.kind == kind && entry.path == path; });
}

Status carry_entry(const CarryOver& carry, const std::string& old_dir, const std::string& dir,
                   const ExistingEntry& entry);

// `old_dir` (absolute) stood at `dir` (relative to the project), where the private copy is now.
Status carry_dir(const CarryOver& carry, const std::string& old_dir, const std::string& dir) {
  PFNM_TRY_ASSIGN(const auto entries, list_existing(AT_FDCWD, old_dir));
  for (const ExistingEntry& entry : entries) PFNM_TRY(carry_entry(carry, old_dir, dir, entry));
  return carry.fs.remove_dir(AT_FDCWD, old_dir);
}

// A worktree's own caches and copies take the place of the fresh ones.
Status carry_in(const CarryOver& carry, const std::string& from, const std::string& path) {
  const std::string destination = carry.project + "/" + path;
  const std::string parent = destination.substr(0, destination.find_last_of('/'));
  PFNM_TRY(carry.fs.ensure_dirs(parent));
  PFNM_TRY_ASSIGN(const auto standing, find_stat(AT_FDCWD, destination));
  if (standing && carry.standing == Standing::maybe_used) return carry.aside.move_from(from, path);
  PFNM_TRY(remove_tree(carry.fs, AT_FDCWD, destination));
  return carry.fs.rename(AT_FDCWD, from, AT_FDCWD, destination);
}

Status carry_entry(const CarryOver& carry, const std::string& old_dir, const std::string& dir,
                   const ExistingEntry& entry) {
  const std::string from = old_dir + "/" + entry.name;
  const std::string path = dir + "/" + entry.name;
  const bool in_container = dir.ends_with("node_modules");
  const LayoutPlan no_plan;
  const PlanDir here{dir, PlanDirKind::managed, {}};
  const ContainerContext context{carry.project, no_plan, here, carry.own, carry.store, {}, {}};
  if (is_our_link(context, entry) || owns(carry, OwnKind::workspace_bin, path)) return carry.fs.unlink(AT_FDCWD, from);
  if (in_container && is_bookkeeping(entry.name)) return remove_tree(carry.fs, AT_FDCWD, from);
  if (entry.type == FileType::directory && (entry.name.starts_with('@') || entry.name == ".bin"))
    return carry_dir(carry, from, path);
  // Never through carry_in: this very run may have moved something into the new one already.
  if (in_container && entry.name == k_aside_dir) return carry.aside.move_from(from, path);
  const bool tools = entry.name.starts_with('.') ||
                     std::any_of(carry.writable.begin(), carry.writable.end(), [&](std::string_view writable) {
                       return writable.substr(0, writable.find('/')) == entry.name;
                     });
  if (owns(carry, OwnKind::copy, path) || (in_container && tools))
    return carry_in(carry, from, path);
  return carry.aside.move_from(from, path);
}

struct Exchange {
  std::vector<Container> containers;
  std::optional<Record> former;
};

Result<Exchange> read_exchange(const std::string& staging) {
  Exchange exchange;
  PFNM_TRY_ASSIGN(const std::string text, read_file(AT_FDCWD, staging + "/exchange"));
  PFNM_TRY_ASSIGN(const auto lines, parse_lines(text, "exchange", 1, staging + "/exchange"));
  for (const Line& line : lines) {
    if (line.size() != 4) continue;
    exchange.containers.push_back({line[3], line[1], parse_u64(line[2]).value_or(0)});
  }
  PFNM_TRY_ASSIGN(const auto former, find_file(AT_FDCWD, staging + "/former"));
  if (former) {
    auto record = parse_record(*former, "former");
    if (record.has_value()) exchange.former = std::move(*record);
  }
  return exchange;
}

// All was carried over, and the removal was interrupted after the list was gone. The list goes after the containers: if
// one is there all the same, somebody else has been at work, and nothing is deleted.
Status remove_finished(const Fs& fs, const std::string& staging) {
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, staging));
  for (const DirEntry& entry : entries)
    if (entry.type == FileType::directory)
      return fail(Error::make(Errc::corrupt, "finish", staging, "it holds a directory that no list explains",
                              "look at it, and remove it by hand"));
  return remove_tree(fs, AT_FDCWD, staging);
}

Status finish_exchange(const Fs& fs, const std::string& project, const std::string& staging, Aside& aside,
                       Standing standing) {
  PFNM_TRY_ASSIGN(const auto list, find_stat(AT_FDCWD, staging + "/exchange"));
  if (!list) return remove_finished(fs, staging);
  PFNM_TRY_ASSIGN(const Exchange exchange, read_exchange(staging));
  const std::vector<OwnEntry> none;
  const std::string no_store = "/nonexistent";
  const CarryOver carry{fs, project, exchange.former ? exchange.former->store : no_store,
                        exchange.former ? exchange.former->own : none,
                        exchange.former ? exchange.former->settings.writable : std::vector<std::string>{},
                        aside, standing};
  for (const Container& container : exchange.containers) {
    const std::string path = staging + "/" + container.slot;
    PFNM_TRY_ASSIGN(const auto st, find_stat(AT_FDCWD, path));
    if (!st) continue;
    if (st->ino == container.fresh_ino) {
      PFNM_TRY(remove_tree(fs, AT_FDCWD, path));  // never exchanged: all of it is our own fresh copy
    } else {
      PFNM_TRY(carry_dir(carry, path, container.path));
    }
  }
  return remove_tree(fs, AT_FDCWD, staging);
}

Status stage_bookkeeping(const Fs& fs, const LinkTarget& target, const std::string& root, const TreeSurvey& survey,
                         const std::string& staging) {
  Record record = target.record;
  record.layout = Layout::private_copy;
  record.dirs.clear();
  record.own.clear();
  PFNM_TRY(fs.create_file(AT_FDCWD, root + "/" + k_record, render_record(record)));
  const std::string lock = target.install + "/node_modules/.package-lock.json";
  PFNM_TRY_ASSIGN(const auto has_lock, find_stat(AT_FDCWD, lock));
  if (has_lock) PFNM_TRY(fs.copy_file(AT_FDCWD, lock, AT_FDCWD, root + "/.package-lock.json", 0644));
  if (survey.record) PFNM_TRY(fs.create_file(AT_FDCWD, staging + "/former", render_record(*survey.record)));
  return {};
}

Result<CopyReport> stage_all(const Fs& fs, const LinkTarget& target, const TreeSurvey& survey,
                             const std::string& staging, std::vector<Container>& containers,
                             const std::function<void(const CopyReport&)>& progress) {
  PFNM_TRY(check_space(fs, target, staging));
  CopyReport total;
  for (const Container& container : containers) {
    PFNM_TRY_ASSIGN(const CopyReport report,
                    stage_container(fs, target, container, staging + "/" + container.slot, progress));
    total.entries += report.entries;
    total.bytes += report.bytes;
    total.reflinked_bytes += report.reflinked_bytes;
  }
  PFNM_TRY(stage_bookkeeping(fs, target, staging + "/0", survey, staging));
  PFNM_TRY(write_exchange_list(fs, staging, containers));
  return total;
}

}  // namespace

Result<PrivateReport> apply_private(const Fs& fs, const LinkTarget& target, const TreeSurvey& survey,
                                    const std::function<void(const CopyReport&)>& progress) {
  std::vector<Container> containers = containers_of(target);
  PFNM_TRY_ASSIGN(const std::string fresh, make_staging(fs, target.project, k_staging_prefix));
  auto staged = stage_all(fs, target, survey, fresh, containers, progress);
  if (!staged.has_value()) {
    std::ignore = remove_tree(fs, AT_FDCWD, fresh);  // the staging's error is the news; the next run sweeps
    return fail(staged.error());
  }
  const std::string staging = target.project + "/" + unique_name(k_exchange_prefix);
  PFNM_TRY(fs.rename(AT_FDCWD, fresh, AT_FDCWD, staging));
  for (auto container = containers.rbegin(); container != containers.rend(); ++container)
    PFNM_TRY(swap_in(fs, target.project, staging, *container));
  Aside aside(fs, target.project);
  PFNM_TRY(finish_exchange(fs, target.project, staging, aside, Standing::fresh));
  return PrivateReport{*staged, aside.moved()};
}

Result<MovedAside> resume_private(const Fs& fs, const std::string& project) {
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, project));
  Aside aside(fs, project);
  for (const DirEntry& entry : entries)
    if (entry.type == FileType::directory && entry.name.starts_with(k_exchange_prefix))
      PFNM_TRY(finish_exchange(fs, project, project + "/" + entry.name, aside, Standing::maybe_used));
  return aside.moved();
}

}  // namespace pfnm
