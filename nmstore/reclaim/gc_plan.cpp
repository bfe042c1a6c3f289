#include "nmstore/reclaim/gc_plan.hpp"

#include <algorithm>

namespace pfnm {
namespace {

bool goes_first(const PlannedInstall& a, const PlannedInstall& b) {
  const bool a_goes = a.judgement.verdict == Verdict::reclaim;
  const bool b_goes = b.judgement.verdict == Verdict::reclaim;
  if (a_goes != b_goes) return a_goes;
  if (a_goes && a.judgement.last_used != b.judgement.last_used) return a.judgement.last_used < b.judgement.last_used;
  return a.facts.name < b.facts.name;
}

void choose(GcPlan& plan, const GcPolicy& policy) {
  for (PlannedInstall& install : plan.installs) {
    if (install.judgement.verdict != Verdict::reclaim) return;
    if (policy.max_bytes && plan.chosen_bytes >= *policy.max_bytes) return;
    install.chosen = PlannedInstall::Chosen::yes;
    ++plan.chosen;
    plan.chosen_bytes += install.facts.bytes;
  }
}

PlannedTrash plan_item(const TrashItem& item, const GcPolicy& policy, GcPlan::Pressure pressure, std::int64_t now) {
  PlannedTrash planned{item, PlannedTrash::Action::wait, item.trashed_at + policy.reclaim.grace_seconds};
  switch (item.state) {
    case TrashState::whole:
      if (now >= planned.due_at || pressure == GcPlan::Pressure::yes) planned.action = PlannedTrash::Action::remove;
      break;
    case TrashState::doomed:
      planned.action = PlannedTrash::Action::remove;
      break;
    case TrashState::empty:
      // The record comes first: a pfnm may be about to move something here right now. Of an install, locks tell.
      if (!item.install && now < planned.due_at) break;
      planned.action = PlannedTrash::Action::settle;
      break;
    case TrashState::pending:
      planned.action = PlannedTrash::Action::settle;
      break;
  }
  return planned;
}

}  // namespace

GcPlan plan_gc(const GcFacts& facts, const GcPolicy& policy, std::int64_t now) {
  GcPlan plan;
  plan.blind = facts.blind;
  plan.unexplained = facts.trash.unexplained;
  if (facts.space && facts.space->used_percent() >= policy.pressure_percent) plan.pressure = GcPlan::Pressure::yes;
  const Sight sight = facts.blind.empty() ? Sight::clear : Sight::blind;
  for (const InstallFacts& install : facts.installs)
    plan.installs.push_back({install, judge(install, policy.reclaim, sight, now), PlannedInstall::Chosen::no});
  std::sort(plan.installs.begin(), plan.installs.end(), goes_first);
  choose(plan, policy);
  for (const TrashItem& item : facts.trash.items)
    plan.trash.push_back(plan_item(item, policy, plan.pressure, now));
  for (const auto& [reference, fact] : facts.references) {
    // Kept as long as it keeps an install from going.
    if (fact.liveness == Liveness::dead && now - fact.used_until >= policy.reclaim.grace_seconds)
      plan.dead_references.push_back(reference);
  }
  return plan;
}

}  // namespace pfnm
