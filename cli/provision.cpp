#include "cli/provision.hpp"

#include <fcntl.h>
#include <time.h>

#include "nmstore/layout/husky.hpp"
#include "nmstore/platform/os.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/reference.hpp"
#include "nmstore/store/trash.hpp"

namespace pfnm {
namespace {

SameAnswer compare_answer(const Record& answer, const std::optional<Record>& record) {
  if (!record) return SameAnswer::no;
  const bool same = record->install == answer.install && record->fingerprint == answer.fingerprint &&
                    record->store == answer.store && record->settings == answer.settings;
  return same ? SameAnswer::yes : SameAnswer::no;
}

std::uint64_t rotation() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'007ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

Result<Reference> reference_of(const ProvisionRequest& request) {
  Reference reference;
  reference.project = request.project.root;
  reference.worktree = request.project.worktree.root;
  reference.repository = request.project.worktree.common_dir;
  reference.install = request.answer.install;
  reference.layout = layout_word(request.layout);
  PFNM_TRY_ASSIGN(reference.identity, os::identity_of(request.project.root));
  reference.boot = os::boot_id();
  reference.announced_at = ::time(nullptr);
  return reference;
}

Status announce(const ProvisionRequest& request) {
  PFNM_TRY_ASSIGN(const Reference reference, reference_of(request));
  return announce_reference(request.fs, request.store, reference);
}

// A copy of a linked worktree, or one that was moved, is whole, and nobody announced it where it is now.
Status announce_if_unknown(const ProvisionRequest& request) {
  PFNM_TRY_ASSIGN(const Reference wanted, reference_of(request));
  const auto known = find_reference(request.store, wanted.project);
  const bool same = known.has_value() && *known && (*known)->install == wanted.install &&
                    (*known)->worktree == wanted.worktree && (*known)->repository == wanted.repository &&
                    (*known)->identity.volume == wanted.identity.volume;
  return same ? Status{} : announce_reference(request.fs, request.store, wanted);
}

// The trash of the store where that is the same file system, else a git-ignored directory of the worktree.
Result<std::string> trash_tree(const ProvisionRequest& request, const std::string& path) {
  auto moved = move_to_trash(request.fs, request.store, path, "link --force");
  if (moved.has_value() || moved.error().code != Errc::cross_device) return moved;
  const std::string beside = request.project.root + "/.pfnm-trash";
  PFNM_TRY(request.fs.ensure_dir(AT_FDCWD, beside));
  PFNM_TRY(request.fs.write_file(AT_FDCWD, beside + "/.gitignore", "*\n"));
  const std::string destination = beside + "/" + unique_name("t-");
  PFNM_TRY(request.fs.rename(AT_FDCWD, path, AT_FDCWD, destination));
  return destination;
}

// Same layout, but the record speaks of other inputs (a manifest changed without changing the tree): the record alone
// is brought up to date, so that the next run need not compute the key again.
Status refresh_record(const ProvisionRequest& request, const Record& known) {
  bool current = known.inputs.size() == request.answer.inputs.size() &&
                 known.configs.size() == request.answer.configs.size() && known.node == request.answer.node &&
                 known.npm == request.answer.npm;
  const auto same = [](const Input& a, const Input& b) {
    return a.path == b.path && a.kind == b.kind && a.digest == b.digest;
  };
  for (std::size_t i = 0; current && i < known.inputs.size(); ++i)
    current = same(known.inputs[i], request.answer.inputs[i]);
  for (std::size_t i = 0; current && i < known.configs.size(); ++i)
    current = same(known.configs[i], request.answer.configs[i]);
  if (current) return {};
  Record updated = request.answer;
  updated.layout = known.layout;
  updated.dirs = known.dirs;
  updated.own = known.own;
  const std::string modules = request.project.root + "/node_modules";
  PFNM_TRY_ASSIGN(const FileStat st, stat_at(AT_FDCWD, modules));
  PFNM_TRY(request.fs.write_file(AT_FDCWD, modules + "/" + k_record, render_record(updated)));
  return request.fs.set_mtime(AT_FDCWD, modules, st.mtime_ns);
}

class Provisioner {
 public:
  Provisioner(const ProvisionRequest& request, const TreeSurvey& survey, const OpenInstall& install)
      : request_(request), survey_(survey), install_(install) {
    report_.project = request.project.root;
    report_.name = request.answer.install;
    report_.install = request.store.paths.install(request.answer.install);
    report_.layout = request.layout;
  }

  Result<ProvisionReport> run() {
    const SameAnswer same = compare_answer(request_.answer, survey_.record);
    Intact intact = Intact::no;
    if (survey_.state == TreeState::linked && same == SameAnswer::yes) {
      PFNM_TRY_ASSIGN(intact, survey_intact(request_.project.root, *survey_.record, install_.plan));
    }
    decision_ = decide(survey_.state, request_.layout, same, intact, request_.force);
    PFNM_TRY(check());
    PFNM_TRY(act());
    return std::move(report_);
  }

 private:
  Status check() {
    PFNM_TRY_ASSIGN(const auto damaged, check_install(report_.install, install_.manifest, rotation()));
    PFNM_TRY_ASSIGN(report_.damaged, restore_modes(request_.fs, report_.install, install_.manifest, damaged));
    for (const DamagedPath& path : report_.damaged) {
      if (path.damage != Damage::missing) continue;
      // A link to it would dangle.
      return fail(Error::make(Errc::corrupt, "use the install", report_.install, path.path + " is missing in it",
                              "pfnm install build --anew builds it again"));
    }
    return {};
  }

  Status act() {
    switch (decision_) {
      case Decision::leave:
        report_.action = Action::unchanged;
        PFNM_TRY(announce_if_unknown(request_));
        return refresh_record(request_, *survey_.record);
      case Decision::leave_private:
        report_.action = Action::private_copy;
        report_.layout = Layout::private_copy;
        return {};
      case Decision::refuse:
        return fail(Error::make(Errc::refused, "link", request_.project.root,
                                "node_modules is there and pfnm did not make it",
                                "remove it, or let pfnm link --force move it to the trash"));
      case Decision::first_link:
      case Decision::relink:
      case Decision::make_private:
        break;
    }
    PFNM_TRY(announce(request_));
    PFNM_TRY(clear_way());
    return lay_out();
  }

  Status clear_way() {
    const bool in_the_way = survey_.state == TreeState::unmarked || survey_.state == TreeState::private_copy;
    if (in_the_way) PFNM_TRY(trash_containers());
    return sweep_staging(request_.fs, request_.project.root);
  }

  // The root's node_modules last: until then the tree is what it was, and the next --force goes on.
  Status trash_containers() {
    std::vector<std::string> containers;
    for (const PlanDir& dir : install_.plan.dirs) {
      const std::string container = container_of(dir.path);
      if (containers.empty() || containers.back() != container) containers.push_back(container);
    }
    for (auto container = containers.rbegin(); container != containers.rend(); ++container) {
      const std::string path = request_.project.root + "/" + *container;
      PFNM_TRY_ASSIGN(const auto there, find_stat(AT_FDCWD, path));
      if (!there) continue;
      PFNM_TRY_ASSIGN(report_.trashed, trash_tree(request_, path));
    }
    return {};
  }

  Status lay_out() {
    const LinkTarget target{request_.project.root, report_.install, install_.plan, install_.manifest, request_.answer};
    if (decision_ == Decision::make_private) {
      PFNM_TRY_ASSIGN(PrivateReport made, apply_private(request_.fs, target, survey_, request_.progress));
      report_.action = Action::private_copy;
      report_.copied = made.copied;
      report_.aside = std::move(made.aside);
      return drop_reference(request_.fs, request_.store, request_.project.root);
    }
    if (decision_ == Decision::relink) {
      PFNM_TRY_ASSIGN(report_.aside, apply_relink(request_.fs, target, survey_));
      report_.action = Action::relinked;
      return {};
    }
    PFNM_TRY_ASSIGN(report_.aside, apply_first_link(request_.fs, target));
    report_.action = Action::linked;
    return {};
  }

  const ProvisionRequest& request_;
  const TreeSurvey& survey_;
  const OpenInstall& install_;
  Decision decision_ = Decision::leave;
  ProvisionReport report_;
};

}  // namespace

Decision decide(TreeState state, Layout wanted, SameAnswer same, Intact intact, Force force) {
  const Decision fresh = wanted == Layout::private_copy ? Decision::make_private : Decision::first_link;
  switch (state) {
    case TreeState::absent:
      return fresh;
    case TreeState::unmarked:
      return force == Force::yes ? fresh : Decision::refuse;
    case TreeState::private_copy:
      return force == Force::yes && wanted == Layout::links ? fresh : Decision::leave_private;
    case TreeState::unfinished:
      return wanted == Layout::private_copy ? Decision::make_private : Decision::relink;
    case TreeState::linked:
      break;
  }
  if (wanted == Layout::private_copy) return Decision::make_private;
  return same == SameAnswer::yes && intact == Intact::yes ? Decision::leave : Decision::relink;
}

std::string_view action_word(Action action) {
  switch (action) {
    case Action::built:
      return "built";
    case Action::linked:
      return "linked";
    case Action::relinked:
      return "relinked";
    case Action::unchanged:
      return "unchanged";
    case Action::private_copy:
      return "private";
  }
  return "unchanged";
}

Result<ProvisionReport> provision(const ProvisionRequest& request, const TreeSurvey& survey) {
  PFNM_TRY_ASSIGN(const OpenInstall install, open_install(request.store, request.seal));
  PFNM_TRY_ASSIGN(const MovedAside resumed, resume_private(request.fs, request.project.root));
  PFNM_TRY_ASSIGN(ProvisionReport report, Provisioner(request, survey, install).run());
  PFNM_TRY(provision_husky(request.fs, request.project.worktree.root, request.project.worktree.common_dir));
  if (report.aside.directory.empty()) report.aside = resumed;
  return report;
}

Result<std::optional<FileLock>> try_lock_worktree(const Fs& fs, const Store& store, const std::string& project) {
  auto locked = FileLock::try_acquire_directory(project);
  if (locked.has_value() || locked.error().code == Errc::not_permitted) return locked;
  return FileLock::try_acquire(fs, store.paths.worktree_lock(sha256(project).to_hex().substr(0, 32)),
                               LockMode::exclusive);
}

Result<OpenInstall> open_install(const Store& store, const Seal& seal) {
  const std::string install = store.paths.install(seal.install);
  OpenInstall open;
  PFNM_TRY_ASSIGN(const std::string plan, read_file(AT_FDCWD, plan_file(install)));
  if (checksum(plan) != seal.plan_checksum) {
    return fail(Error::make(Errc::corrupt, "use the install", install, "its link plan was changed",
                            "pfnm install verify " + seal.install.text.substr(0, 12) + " says what else was"));
  }
  PFNM_TRY_ASSIGN(open.plan, parse_plan(plan, plan_file(install)));
  PFNM_TRY_ASSIGN(open.manifest, ManifestView::open(manifest_file(install)));
  return open;
}

}  // namespace pfnm
