// The GC's judgement: each fact that keeps an install keeps it alone.
#include "nmstore/reclaim/judge.hpp"

#include <gmock/gmock.h>

#include <functional>

namespace pfnm {
namespace {

constexpr std::int64_t k_now = 2'000'000'000;
constexpr std::int64_t k_day = 24 * 3600;

InstallFacts unused() {
  InstallFacts facts;
  facts.name = InstallName{std::string(64, 'a')};
  facts.made_at = k_now - 10 * k_day;
  facts.last_leased = k_now - 9 * k_day;
  facts.leased = Held::no;
  facts.references = {{"/w/gone", Liveness::dead, "", k_now - 8 * k_day}};
  return facts;
}

Judgement judged(const InstallFacts& facts, Sight sight = Sight::clear) { return judge(facts, {}, sight, k_now); }

TEST(Judge, LetsGoOfWhatNothingUses) {
  const Judgement judgement = judged(unused());
  EXPECT_EQ(judgement.verdict, Verdict::reclaim);
  ASSERT_EQ(judgement.reasons.size(), 1U);
  EXPECT_EQ(judgement.reasons.front().code, ReasonCode::unreferenced);
  EXPECT_EQ(judgement.last_used, k_now - 8 * k_day);
  EXPECT_EQ(judgement.eligible_at, 0);
}

struct Keeps {
  const char* what;
  ReasonCode code;
  std::function<void(InstallFacts&)> set;
};

const std::vector<Keeps>& all_that_keep() {
  static const std::vector<Keeps> all = {
      {"a live reference", ReasonCode::referenced,
       [](InstallFacts& f) {
         f.references.push_back({"/w/one", Liveness::live, "", 0});
       }},
      {"a reference that cannot be read", ReasonCode::reference_unknown,
       [](InstallFacts& f) {
         f.references.push_back({"/w/one", Liveness::unknown, "Permission denied", 0});
       }},
      {"a process", ReasonCode::in_use, [](InstallFacts& f) { f.processes.emplace_back("process 7 works in it"); }},
      {"a default branch", ReasonCode::default_branch, [](InstallFacts& f) { f.default_branches.emplace_back("/r"); }},
      {"a lease", ReasonCode::leased, [](InstallFacts& f) { f.leased = Held::yes; }},
      {"a lease that cannot be asked for", ReasonCode::leased, [](InstallFacts& f) { f.leased = Held::unknown; }},
      {"a build", ReasonCode::building, [](InstallFacts& f) { f.building = Held::yes; }},
      {"a build lock that cannot be asked for", ReasonCode::building,
       [](InstallFacts& f) { f.building = Held::unknown; }},
      {"a mount", ReasonCode::mounted_inside, [](InstallFacts& f) { f.mounted_inside.emplace_back("/s/k/x"); }},
      {"that it is gone", ReasonCode::not_ours_now, [](InstallFacts& f) { f.place = InstallFacts::Place::missing; }},
      {"that it is no directory", ReasonCode::not_ours_now,
       [](InstallFacts& f) { f.place = InstallFacts::Place::not_directory; }},
      {"that it is young", ReasonCode::recently_made, [](InstallFacts& f) { f.made_at = k_now - k_day + 1; }},
      {"that it was leased lately", ReasonCode::recently_used,
       [](InstallFacts& f) { f.last_leased = k_now - k_day + 1; }},
      {"that a reference died lately", ReasonCode::recently_used,
       [](InstallFacts& f) { f.references.front().used_until = k_now - k_day + 1; }},
      {"a seal of the future", ReasonCode::recently_made, [](InstallFacts& f) { f.made_at = k_now + 1000; }},
      {"a lease of the future", ReasonCode::recently_used, [](InstallFacts& f) { f.last_leased = k_now + 1000; }},
  };
  return all;
}

TEST(Judge, EachThatKeepsKeepsAlone) {
  for (const Keeps& keeps : all_that_keep()) {
    InstallFacts facts = unused();
    keeps.set(facts);
    for (const Sight sight : {Sight::clear, Sight::blind}) {
      const Judgement judgement = judged(facts, sight);
      EXPECT_EQ(judgement.verdict, Verdict::keep) << keeps.what;
      ASSERT_EQ(judgement.reasons.size(), 1U) << keeps.what;
      EXPECT_EQ(judgement.reasons.front().code, keeps.code) << keeps.what;
    }
  }
}

TEST(Judge, EveryPairOfThemGivesBothReasons) {
  for (const Keeps& a : all_that_keep()) {
    for (const Keeps& b : all_that_keep()) {
      InstallFacts facts = unused();
      a.set(facts);
      b.set(facts);
      const Judgement judgement = judged(facts);
      EXPECT_EQ(judgement.verdict, Verdict::keep) << a.what << ", " << b.what;
      if (a.code == b.code) continue;
      EXPECT_EQ(judgement.reasons.size(), 2U) << a.what << ", " << b.what;
    }
  }
}

TEST(Judge, EachReferenceThatKeepsIsNamed) {
  InstallFacts facts = unused();
  facts.references.push_back({"/w/one", Liveness::live, "", 0});
  facts.references.push_back({"/w/two", Liveness::live, "", 0});
  facts.references.push_back({"/w/three", Liveness::unknown, "I/O error", 0});
  const Judgement judgement = judged(facts);
  ASSERT_EQ(judgement.reasons.size(), 3U);
  EXPECT_EQ(judgement.reasons[0].text(), "referenced: /w/one");
  EXPECT_EQ(judgement.reasons[1].text(), "referenced: /w/two");
  EXPECT_EQ(judgement.reasons[2].text(), "a reference cannot be read: /w/three: I/O error");
}

TEST(Judge, TheGraceEndsToTheSecond) {
  InstallFacts facts = unused();
  facts.made_at = facts.last_leased = k_now - k_day;
  facts.references.clear();
  EXPECT_EQ(judged(facts).verdict, Verdict::reclaim);
  facts.last_leased = k_now - k_day + 1;
  EXPECT_EQ(judged(facts).verdict, Verdict::keep);
  EXPECT_EQ(judged(facts).eligible_at, k_now + 1);
}

TEST(Judge, SaysWhenOnlyTimeIsMissing) {
  InstallFacts facts = unused();
  facts.made_at = k_now - 10;
  facts.last_leased = k_now - 5;
  EXPECT_EQ(judged(facts).eligible_at, k_now - 5 + k_day);
  facts.processes.emplace_back("process 7 works in it");
  EXPECT_EQ(judged(facts).eligible_at, 0) << "more than time is missing";
}

TEST(Judge, BlindReclaimsNothing) {
  const Judgement judgement = judged(unused(), Sight::blind);
  EXPECT_EQ(judgement.verdict, Verdict::keep);
  ASSERT_EQ(judgement.reasons.size(), 1U);
  EXPECT_EQ(judgement.reasons.front().code, ReasonCode::blind);
}

TEST(Judge, AnInterruptedBuildGoesAfterADay) {
  InstallFacts facts = unused();
  facts.place = InstallFacts::Place::unsealed;
  EXPECT_EQ(judged(facts).verdict, Verdict::reclaim);
  EXPECT_EQ(judged(facts).reasons.front().code, ReasonCode::interrupted_build);
  facts.made_at = k_now - 60;
  EXPECT_EQ(judged(facts).verdict, Verdict::keep);
  EXPECT_EQ(judged(facts).reasons.front().text(), "recently made: its build started under a day ago");
}

TEST(Judge, FactsThatNobodyFilledInKeep) { EXPECT_EQ(judged(InstallFacts{}).verdict, Verdict::keep); }

}  // namespace
}  // namespace pfnm
