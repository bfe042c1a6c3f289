#include "nmstore/reclaim/gc_plan.hpp"

#include <gmock/gmock.h>

namespace pfnm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Action = PlannedTrash::Action;

constexpr std::int64_t k_now = 2'000'000'000;
constexpr std::int64_t k_day = 24 * 3600;

InstallFacts install(char c, std::int64_t last_leased, std::uint64_t bytes = 100) {
  InstallFacts facts;
  facts.name = InstallName{std::string(64, c)};
  facts.made_at = k_now - 100 * k_day;
  facts.last_leased = last_leased;
  facts.leased = Held::no;
  facts.bytes = bytes;
  return facts;
}

InstallFacts used(char c) {
  InstallFacts facts = install(c, k_now - 50 * k_day);
  facts.references.push_back({"/w", Liveness::live, "", 0});
  return facts;
}

TrashItem item(TrashState state, std::int64_t trashed_at, bool of_install = true) {
  TrashItem item;
  item.id = "t-1";
  item.state = state;
  item.from = "/s/x";
  item.trashed_at = trashed_at;
  if (of_install) item.install = InstallName{std::string(64, 'a')};
  return item;
}

// "a" chosen, "(a)" not.
std::string order(const GcPlan& plan) {
  std::string text;
  for (const PlannedInstall& planned : plan.installs) {
    const char name = planned.facts.name.text.front();
    text += planned.chosen == PlannedInstall::Chosen::yes ? std::string{name} : "(" + std::string{name} + ")";
  }
  return text;
}

VolumeSpace full(std::uint64_t percent) {
  VolumeSpace space;
  space.used_bytes = 10 * percent;
  space.available_bytes = 1000 - 10 * percent;
  return space;
}

Action action_of(const TrashItem& item, std::optional<VolumeSpace> space = {}) {
  GcFacts facts;
  facts.trash.items = {item};
  facts.space = space;
  return plan_gc(facts, {}, k_now).trash.at(0).action;
}

TEST(GcPlanning, TheLeastRecentlyUsedGoFirst) {
  GcFacts facts;
  facts.installs = {install('a', k_now - 3 * k_day), used('b'),
                    install('c', k_now - 9 * k_day), used('d'),
                    install('e', k_now - 5 * k_day), install('f', k_now - 5 * k_day)};
  const GcPlan plan = plan_gc(facts, {}, k_now);
  EXPECT_EQ(order(plan), "cefa(b)(d)");
  EXPECT_EQ(plan.chosen, 4U);
  EXPECT_EQ(plan.chosen_bytes, 400U);
}

TEST(GcPlanning, StopsOnceEnoughWasChosen) {
  GcFacts facts;
  facts.installs = {install('a', k_now - 3 * k_day), install('b', k_now - 5 * k_day), install('c', k_now - 9 * k_day),
                    used('d')};
  GcPolicy policy;
  for (const auto& [most, expected] : std::vector<std::pair<std::uint64_t, std::string>>{
           {0, "(c)(b)(a)(d)"}, {1, "c(b)(a)(d)"}, {100, "c(b)(a)(d)"}, {101, "cb(a)(d)"}, {1000, "cba(d)"}}) {
    policy.max_bytes = most;
    EXPECT_EQ(order(plan_gc(facts, policy, k_now)), expected) << most;
  }
}

TEST(GcPlanning, ChoosesNothingWhereItIsBlind) {
  GcFacts facts;
  facts.installs = {install('a', k_now - 3 * k_day)};
  facts.blind = {{"the root", "/w", "Permission denied"}};
  const GcPlan plan = plan_gc(facts, {}, k_now);
  EXPECT_EQ(order(plan), "(a)");
  EXPECT_EQ(plan.blind.size(), 1U);
}

TEST(GcPlanning, TrashIsKeptADay) {
  EXPECT_EQ(action_of(item(TrashState::whole, k_now - k_day + 1)), Action::wait);
  EXPECT_EQ(action_of(item(TrashState::whole, k_now - k_day)), Action::remove);
  EXPECT_EQ(action_of(item(TrashState::whole, k_now + 1000)), Action::wait) << "a clock was set back";
}

TEST(GcPlanning, TrashIsNotKeptUnderPressure) {
  EXPECT_EQ(full(91).used_percent(), 91U);
  EXPECT_EQ(action_of(item(TrashState::whole, k_now), full(91)), Action::wait);
  EXPECT_EQ(action_of(item(TrashState::whole, k_now), full(92)), Action::remove);
}

TEST(GcPlanning, PressureMakesNoInstallGo) {
  GcFacts facts;
  facts.installs = {used('a'), install('b', k_now - 60)};
  facts.space = full(99);
  EXPECT_EQ(order(plan_gc(facts, {}, k_now)), "(a)(b)");
}

TEST(GcPlanning, WhatWasBegunIsGoneOnWith) {
  EXPECT_EQ(action_of(item(TrashState::doomed, k_now)), Action::remove);
  EXPECT_EQ(action_of(item(TrashState::pending, k_now)), Action::settle);
  EXPECT_EQ(action_of(item(TrashState::empty, k_now)), Action::settle);
}

// Its record is written first: somebody may be about to move something there. No lock tells.
TEST(GcPlanning, ARecordAloneOfSomethingElseWaits) {
  EXPECT_EQ(action_of(item(TrashState::empty, k_now, false)), Action::wait);
  EXPECT_EQ(action_of(item(TrashState::empty, k_now - k_day, false)), Action::settle);
}

TEST(GcPlanning, TheUnexplainedIsPassedOn) {
  GcFacts facts;
  facts.trash.unexplained = {"mystery"};
  const GcPlan plan = plan_gc(facts, {}, k_now);
  EXPECT_THAT(plan.unexplained, ElementsAre("mystery"));
  EXPECT_THAT(plan.trash, IsEmpty());
}

TEST(GcPlanning, RecordsOfTheDeadAreDroppedWhenTheyKeepNothingAnyMore) {
  const auto dropped = [](Liveness liveness, std::int64_t used_until) {
    GcFacts facts;
    facts.references.emplace_back(Reference{}, ReferenceFact{"/w", liveness, "", used_until});
    return plan_gc(facts, {}, k_now).dead_references.size();
  };
  EXPECT_EQ(dropped(Liveness::dead, k_now - k_day), 1U);
  EXPECT_EQ(dropped(Liveness::dead, k_now - k_day + 1), 0U);
  EXPECT_EQ(dropped(Liveness::live, 0), 0U);
  EXPECT_EQ(dropped(Liveness::unknown, 0), 0U);
}

}  // namespace
}  // namespace pfnm
