#include "nmstore/reclaim/judge.hpp"

#include <algorithm>
#include <array>

namespace pfnm {
namespace {

using Reasons = std::vector<Reason>;

std::int64_t last_used(const InstallFacts& facts) {
  std::int64_t last = facts.last_leased;
  for (const ReferenceFact& reference : facts.references) last = std::max(last, reference.used_until);
  return last;
}

// Each guard adds why the install must stay. tests/mutants/run.sh takes them out one at a time, by the name in the
// comment, and shows the test that notices.

void keep_referenced(const InstallFacts& facts, Reasons& reasons) {
  for (const ReferenceFact& reference : facts.references)
    if (reference.liveness == Liveness::live) reasons.push_back({ReasonCode::referenced, reference.path});  // guard:live
}

void keep_unknown(const InstallFacts& facts, Reasons& reasons) {
  for (const ReferenceFact& reference : facts.references) {
    if (reference.liveness != Liveness::unknown) continue;
    reasons.push_back({ReasonCode::reference_unknown, reference.path + ": " + reference.why});  // guard:unknown
  }
}

void keep_in_use(const InstallFacts& facts, Reasons& reasons) {
  for (const std::string& process : facts.processes) reasons.push_back({ReasonCode::in_use, process});  // guard:process
}

void keep_default_branch(const InstallFacts& facts, Reasons& reasons) {
  for (const std::string& repository : facts.default_branches)
    reasons.push_back({ReasonCode::default_branch, repository});  // guard:default-branch
}

void keep_held(const InstallFacts& facts, Reasons& reasons) {
  if (facts.leased == Held::yes) reasons.push_back({ReasonCode::leased, "a pfnm uses it right now"});  // guard:lease
  if (facts.leased == Held::unknown) reasons.push_back({ReasonCode::leased, "its lease cannot be asked for"});
  if (facts.building != Held::no) reasons.push_back({ReasonCode::building, "a pfnm builds it right now"});  // guard:build
}

void keep_mounted(const InstallFacts& facts, Reasons& reasons) {
  for (const std::string& point : facts.mounted_inside)
    reasons.push_back({ReasonCode::mounted_inside, point});  // guard:mount
}

void keep_strange(const InstallFacts& facts, Reasons& reasons) {
  if (facts.place == InstallFacts::Place::missing)
    reasons.push_back({ReasonCode::not_ours_now, "its directory is gone; pfnm link builds it again"});
  if (facts.place == InstallFacts::Place::not_directory)
    reasons.push_back({ReasonCode::not_ours_now, "something that is no directory has its name"});  // guard:directory
}

void keep_young(const InstallFacts& facts, const ReclaimPolicy& policy, std::int64_t now, Reasons& reasons) {
  // A time that lies ahead (a clock was set back) keeps, too.
  const bool unsealed = facts.place == InstallFacts::Place::unsealed;
  if (now - facts.made_at < policy.grace_seconds)
    reasons.push_back({ReasonCode::recently_made, unsealed ? "its build started under a day ago"
                                                           : "it was sealed under a day ago"});  // guard:young
  if (now - last_used(facts) < policy.grace_seconds)
    reasons.push_back({ReasonCode::recently_used, "it was used under a day ago"});  // guard:used
}

bool is_matter_of_time(const Reason& reason) {
  return reason.code == ReasonCode::recently_made || reason.code == ReasonCode::recently_used;
}

}  // namespace

std::string_view verdict_word(Verdict verdict) { return verdict == Verdict::keep ? "keep" : "reclaim"; }

std::string_view reason_word(ReasonCode code) {
  switch (code) {
    case ReasonCode::referenced:
      return "referenced";
    case ReasonCode::reference_unknown:
      return "a reference cannot be read";
    case ReasonCode::in_use:
      return "in use";
    case ReasonCode::default_branch:
      return "on the default branch";
    case ReasonCode::leased:
      return "leased";
    case ReasonCode::building:
      return "being built";
    case ReasonCode::mounted_inside:
      return "something is mounted in it";
    case ReasonCode::recently_made:
      return "recently made";
    case ReasonCode::recently_used:
      return "recently used";
    case ReasonCode::not_ours_now:
      return "not as it was made";
    case ReasonCode::blind:
      return "blind";
    case ReasonCode::unreferenced:
      return "unreferenced";
    case ReasonCode::interrupted_build:
      return "an interrupted build";
  }
  return "blind";
}

std::string Reason::text() const {
  const std::string_view word = reason_word(code);
  return detail.empty() ? std::string(word) : std::string(word) + ": " + detail;
}

Judgement judge(const InstallFacts& facts, const ReclaimPolicy& policy, Sight sight, std::int64_t now) {
  Judgement judgement;
  judgement.last_used = last_used(facts);
  Reasons& reasons = judgement.reasons;
  keep_referenced(facts, reasons);
  keep_unknown(facts, reasons);
  keep_in_use(facts, reasons);
  keep_default_branch(facts, reasons);
  keep_held(facts, reasons);
  keep_mounted(facts, reasons);
  keep_strange(facts, reasons);
  keep_young(facts, policy, now, reasons);
  if (!reasons.empty()) {
    if (std::all_of(reasons.begin(), reasons.end(), is_matter_of_time))
      judgement.eligible_at = std::max(facts.made_at, judgement.last_used) + policy.grace_seconds;
    return judgement;
  }
  if (sight == Sight::blind) {
    reasons.push_back({ReasonCode::blind, "not everything that may use it could be read"});  // guard:blind
    return judgement;
  }
  judgement.verdict = Verdict::reclaim;
  const bool unsealed = facts.place == InstallFacts::Place::unsealed;
  reasons.push_back({unsealed ? ReasonCode::interrupted_build : ReasonCode::unreferenced, {}});
  return judgement;
}

}  // namespace pfnm
