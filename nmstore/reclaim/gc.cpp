#include "nmstore/reclaim/gc.hpp"

#include <algorithm>
#include <cerrno>

#include "nmstore/platform/file_lock.hpp"

namespace pfnm {
namespace {

// Somebody builds or links it right now: nothing is waited for.
struct Hold {
  FileLock lease;
  FileLock build;
};
Result<std::optional<Hold>> hold(const Fs& fs, const Store& store, const InstallName& name) {
  PFNM_TRY_ASSIGN(auto lease, try_take_lease_exclusively(fs, store, name));
  if (!lease) return std::optional<Hold>{};
  PFNM_TRY_ASSIGN(auto build, FileLock::try_acquire(fs, store.paths.build_lock(name), LockMode::exclusive));
  if (!build) return std::optional<Hold>{};
  return std::optional<Hold>{Hold{std::move(*lease), std::move(*build)}};
}

// Of this one thing, not of the disk: the others can still be gone on with.
bool is_of_the_item(const Error& error) { return error.code == Errc::not_permitted || error.sys_errno == EBUSY; }

std::string short_key(const InstallName& name) { return name.text.substr(0, 12); }

class Run {
 public:
  Run(const GcRequest& request, const GcPlan& plan, Remover& remover)
      : request_(request), store_(request.store), plan_(plan), remover_(remover) {}

  GcReport run() {
    const auto ended = work();
    if (!ended.has_value()) stop(GcReport::Stopped::failed, ended.error().message());
    return std::move(report_);
  }

 private:
  void stop(GcReport::Stopped stopped, std::string why) {
    report_.stopped = stopped;
    report_.why = std::move(why);
  }
  [[nodiscard]] bool stopped() const { return report_.stopped != GcReport::Stopped::no; }

  bool may_go_on() {
    if (stopped()) return false;
    if (request_.go_on && !request_.go_on()) {
      stop(GcReport::Stopped::window, "the nightly window has ended");
      return false;
    }
    // What this process changes itself has no deadline: it must not begin on a volume that does not answer.
    const auto looked = remover_.look();
    if (!looked.has_value()) {
      stop(GcReport::Stopped::failed, looked.error().message());
    } else if (remover_.stalled()) {
      stop(GcReport::Stopped::stalled, remover_.stall());
    }
    return !stopped();
  }

  Status work() {
    if (!plan_.blind.empty()) return {};
    for (const PlannedTrash& item : plan_.trash)
      if (item.action == PlannedTrash::Action::settle && may_go_on()) PFNM_TRY(settle(item.item));
    for (const PlannedInstall& install : plan_.installs)
      if (install.chosen == PlannedInstall::Chosen::yes && may_go_on()) PFNM_TRY(reclaim(install));
    for (const PlannedTrash& item : plan_.trash)
      if (item.action == PlannedTrash::Action::remove && may_go_on()) PFNM_TRY(remove(item.item));
    if (plan_.pressure == GcPlan::Pressure::yes) PFNM_TRY(remove_just_reclaimed());
    for (const Reference& reference : plan_.dead_references)
      if (may_go_on()) PFNM_TRY(drop_dead_reference(request_.fs, store_, reference));
    return {};
  }

  Status end(std::int64_t entry, GcStep step, const std::string& subject, const std::string& outcome,
             const std::string& detail = {}) {
    report_.outcomes.push_back({subject, step, outcome, detail});
    return request_.log.end(entry, outcome, detail);
  }

  Status failed(std::int64_t entry, GcStep step, const std::string& subject, const Error& error) {
    const auto ended = end(entry, step, subject, "failed", error.message());
    if (!is_of_the_item(error)) return fail(error);
    ++report_.failures;
    return ended;
  }

  Status settle(const TrashItem& item) {
    std::optional<Hold> held;
    if (item.install) {
      PFNM_TRY_ASSIGN(held, hold(request_.fs, store_, *item.install));
      if (!held) return {};  // whoever holds it will take it back, or the next run finds it again
    }
    PFNM_TRY_ASSIGN(const std::int64_t entry, request_.log.intend(GcStep::settle, item.id, 0));
    if (const auto settled = settle_pending(request_.fs, store_, item); !settled.has_value())
      return failed(entry, GcStep::settle, item.id, settled.error());
    const bool back = item.install && item.state == TrashState::pending;
    return end(entry, GcStep::settle, item.id, back ? "put back" : "dropped", item.from);
  }

  Status reclaim(const PlannedInstall& planned) {
    const InstallName& name = planned.facts.name;
    PFNM_TRY_ASSIGN(const auto held, hold(request_.fs, store_, name));
    if (!held) {
      report_.outcomes.push_back({name.text, GcStep::reclaim, "kept", "a pfnm uses it right now"});
      return {};
    }
    const Judgement judgement = judge_again(name);  // guard:judge-again
    if (judgement.verdict != Verdict::reclaim) {
      report_.outcomes.push_back({name.text, GcStep::reclaim, "kept", judgement.reasons.front().text()});
      return {};
    }
    if (request_.note) request_.note("reclaiming install " + short_key(name));
    PFNM_TRY_ASSIGN(const std::int64_t entry, request_.log.intend(GcStep::reclaim, name.text, planned.facts.bytes));
    const auto retired = retire_install(request_.fs, store_, name, judgement.reasons.front().text());
    if (!retired.has_value()) {
      if (retired.error().code == Errc::foreign)
        return end(entry, GcStep::reclaim, name.text, "kept", retired.error().message());
      return failed(entry, GcStep::reclaim, name.text, retired.error());
    }
    ++report_.reclaimed;
    trashed_.push_back(*retired);
    return end(entry, GcStep::reclaim, name.text, "trashed", *retired);
  }

  // The facts may be minutes old.
  Judgement judge_again(const InstallName& name) {
    const GcFacts facts = survey_gc(store_, request_.survey_scope(), name);
    if (facts.installs.size() != 1) {
      Judgement gone;
      gone.reasons.push_back({ReasonCode::not_ours_now, "it is gone"});
      return gone;
    }
    const Sight sight = facts.blind.empty() ? Sight::clear : Sight::blind;
    return judge(facts.installs.front(), request_.policy.reclaim, sight, request_.now());
  }

  Status remove_just_reclaimed() {
    PFNM_TRY_ASSIGN(const Trash trash, list_trash(store_));
    for (const TrashItem& item : trash.items) {
      const bool ours = std::find(trashed_.begin(), trashed_.end(), item.id) != trashed_.end();
      if (ours && may_go_on()) PFNM_TRY(remove(item));
    }
    return {};
  }

  Status remove(const TrashItem& item) {
    if (request_.policy.max_bytes && report_.freed_bytes >= *request_.policy.max_bytes) return {};
    PFNM_TRY_ASSIGN(const std::int64_t entry, request_.log.intend(GcStep::remove, item.id, 0));
    const auto name = doom(request_.fs, store_, item);
    if (!name.has_value() && name.error().code == Errc::not_found)
      return end(entry, GcStep::remove, item.id, "kept", "it was taken back");
    if (!name.has_value()) return failed(entry, GcStep::remove, item.id, name.error());
    if (request_.note) request_.note("deleting " + item.from);
    const auto before = volume_space(store_.paths.root());
    auto removal = remover_.remove(*name);
    if (!removal.has_value()) return fail(removal.error());
    report_.entries += removal->entries;
    return end_removal(entry, item, *removal, before);
  }

  Status end_removal(std::int64_t entry, const TrashItem& item, const RemovalReport& removal,
                     const Result<VolumeSpace>& before) {
    if (removal.end == RemovalEnd::stalled) {
      stop(GcReport::Stopped::stalled, removal.why);
      report_.outcomes.push_back({item.id, GcStep::remove, "stopped", removal.why});
      return {};  // nothing more on that volume, the log included
    }
    const auto after = volume_space(store_.paths.root());
    if (before.has_value() && after.has_value() && after->available_bytes > before->available_bytes)
      report_.freed_bytes += after->available_bytes - before->available_bytes;
    switch (removal.end) {
      case RemovalEnd::done:
        PFNM_TRY(forget(request_.fs, store_, item));
        ++report_.removed;
        return end(entry, GcStep::remove, item.id, "deleted", std::to_string(removal.entries) + " entries");
      case RemovalEnd::told_to_stop:
        std::ignore = may_go_on();
        return end(entry, GcStep::remove, item.id, "stopped", std::to_string(removal.entries) + " entries so far");
      case RemovalEnd::left_some:
      case RemovalEnd::stalled:
        break;
    }
    return end(entry, GcStep::remove, item.id, "left", removal.left.front());
  }

  const GcRequest& request_;
  const Store& store_;
  const GcPlan& plan_;
  Remover& remover_;
  GcReport report_;
  std::vector<std::string> trashed_;
};

}  // namespace

std::string_view step_word(GcStep step) {
  switch (step) {
    case GcStep::settle:
      return "settle";
    case GcStep::reclaim:
      return "reclaim";
    case GcStep::remove:
      return "remove";
  }
  return "reclaim";
}

GcReport apply_gc(const GcRequest& request, const GcPlan& plan, Remover& remover) {
  return Run(request, plan, remover).run();
}

}  // namespace pfnm
