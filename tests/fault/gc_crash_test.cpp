// The GC's part of the crash matrix (SPEC 13, issue 4 point 3): `gc` and a taking back by `link` are stopped by SIGKILL,
// ENOSPC and EIO at every change, those inside the remover's child included. What is left must be sound, the next gc
// finishes or backs out, link heals, and the ledger tells what really became of everything.
#include <cstdio>

#include "tests/support/gc_driver.hpp"

namespace pfnm::test {
namespace {

using How = CountingHook::How;

struct FaultKind {
  const char* name;
  How how;
  int error;
};
constexpr std::array<FaultKind, 4> k_faults{{{"killed", How::kill, 0},
                                             {"killed with its parent", How::kill_both, 0},
                                             {"ENOSPC", How::fail, ENOSPC},
                                             {"EIO", How::fail, EIO}}};

enum class Next { link_first, gc_first };

class GcCrash : public GcTest {
 protected:
  struct Scenario {
    std::string name;
    std::function<std::function<int()>(MutationHook*)> work;
    std::uint64_t least = 0;      // the number of changes may not fall
    std::size_t most_builds = 0;  // that healing may need
    bool ends_with_install = false;
  };

  void step_through(const Scenario& scenario) {
    put_back();
    CountingHook whole({});
    const Ended ended = InChild(scenario.work(&whole)).wait();
    ASSERT_EQ(ended.rc, 0) << ended.out << ended.err;
    expect_sound(scenario.name);
    ASSERT_FALSE(HasFailure());
    std::uint64_t points = 0;
    unsigned turn = 0;
    for (const FaultKind& fault : k_faults) {
      ++turn;  // what comes next changes from point to point, and for each point from fault to fault
      for (std::uint64_t k = 1; k <= whole.count(); ++k) {
        if (fault.how == How::kill_both && !whole.was_childs(k)) continue;
        stop_at(scenario, fault, k, (k + turn) % 2 == 0 ? Next::link_first : Next::gc_first);
        ++points;
        if (HasFailure()) return;
      }
    }
    std::printf("gc crash matrix: %s: %llu changes, %llu points\n", scenario.name.c_str(),
                static_cast<unsigned long long>(whole.count()), static_cast<unsigned long long>(points));
    std::fflush(stdout);
    EXPECT_GE(whole.count(), scenario.least);
  }

 private:
  void stop_at(const Scenario& scenario, const FaultKind& fault, std::uint64_t k, Next next) {
    const std::string point = scenario.name + ", " + fault.name + " at change " + std::to_string(k) +
                              (next == Next::link_first ? ", then link" : ", then gc");
    put_back();
    CountingHook hook({fault.how, k, fault.error, {}});
    const Ended stopped = InChild(scenario.work(&hook)).wait();
    EXPECT_EQ(stopped.killed(), fault.how == How::kill_both || (fault.how == How::kill && !hook.was_childs(k))) << point;
    EXPECT_NE(stopped.rc, 5) << point << ": an error or a kill is no stall: " << stopped.err;
    expect_sound(point);
    if (next == Next::link_first) {
      heal_by_link(scenario, point);
      heal_by_gc(point, 0);
      expect_provisioned(point, two_, mini_project().second);
    } else {
      heal_by_gc(point, k_two_days);
      heal_by_gc(point, k_two_days);
      expect_finished(point, scenario);
      heal_by_link(scenario, point);
    }
    // Whatever was in between: a day later nothing is left but what is used.
    heal_by_gc(point, k_two_days);
    EXPECT_EQ(trash().items.size(), 0U) << point;
    expect_provisioned(point, two_, mini_project().second);
  }

  void heal_by_link(const Scenario& scenario, const std::string& point) {
    fake_.forget_builds();
    const Ended healed = InChild(link_work(two_, nullptr)).wait();
    EXPECT_EQ(healed.rc, 0) << point << ": " << healed.out << healed.err;
    EXPECT_LE(fake_.builds(), scenario.most_builds) << point;
    expect_sound(point + ", healed by link");
  }

  void heal_by_gc(const std::string& point, std::int64_t ahead) {
    GcDrive drive;
    drive.ahead = ahead;
    const Ended healed = gc(drive);
    EXPECT_EQ(healed.rc, 0) << point << ": " << healed.out << healed.err;
    expect_sound(point + ", after a gc");
    expect_ledger_tells_the_truth(point);
  }

  // Two runs of the GC two days later: the install is in use, or gone with its trash. (What the first puts back, the
  // second reclaims anew, and keeps for a day.)
  void expect_finished(const std::string& point, const Scenario& scenario) {
    for (const TrashItem& item : trash().items) EXPECT_EQ(item.state, TrashState::whole) << point << ": " << item.id;
    if (scenario.ends_with_install) {
      EXPECT_LE(trash().items.size(), 1U) << point;
    }
  }
};

TEST_F(GcCrash, AReclaimIsFinishedOrBackedOutFromEveryPoint) {
  build_unused_install();
  remember_start();
  step_through({"reclaim", [this](MutationHook* hook) { return gc_work({k_two_days, hook, {}, Apply::yes}); }, 10, 1, false});
}

TEST_F(GcCrash, ADeletionIsFinishedFromEveryPoint) {
  build_trashed_install();
  remember_start();
  step_through({"deletion", [this](MutationHook* hook) { return gc_work({k_two_days, hook, {}, Apply::yes}); }, 60, 1, false});
}

TEST_F(GcCrash, ATakingBackHealsFromEveryPointWithoutABuild) {
  build_trashed_install();
  remember_start();
  step_through({"take back", [this](MutationHook* hook) { return link_work(two_, hook); }, 40, 1, true});
}

// A gc that was killed between the last unlink and forgetting the item leaves its seal; then a link is killed while it
// builds the same key. Nobody may put that seal on the half-built directory.
TEST_F(GcCrash, TheSealOfADeletedItemIsNotPutOnAnInterruptedBuild) {
  build_trashed_install();
  const std::string id = trash().items.front().id;
  delete_tree(in_trash(id));
  ASSERT_EQ(trash().items.front().state, TrashState::pending);
  remember_start();
  CountingHook whole({});
  ASSERT_EQ(InChild(link_work(two_, &whole)).wait().rc, 0);
  std::uint64_t points = 0;
  for (std::uint64_t k = 1; k <= whole.count() && !HasFailure(); k += 5, ++points) {
    const std::string point = "killed at change " + std::to_string(k) + " of a build";
    put_back();
    CountingHook hook({How::kill, k, 0, {}});
    EXPECT_TRUE(InChild(link_work(two_, &hook)).wait().killed()) << point;
    GcDrive today;
    today.ahead = 0;
    if (points % 2 == 0) {
      EXPECT_EQ(gc(today).rc, 0) << point;
    }
    expect_sound(point);
    const Ended healed = InChild(link_work(two_, nullptr)).wait();
    EXPECT_EQ(healed.rc, 0) << point << healed.err;
    expect_sound(point);
    expect_provisioned(point, two_, mini_project().second);
  }
  std::printf("gc crash matrix: seal of a deleted item: %llu points\n", static_cast<unsigned long long>(points));
}

// What a gc read before it had the lock may be over: another gc, or link --force, has ended its move since.
TEST_F(GcCrash, ARecordWhoseMoveHasEndedIsNotSettled) {
  build_trashed_install();
  TrashItem stale = trash().items.front();
  for (const TrashState state : {TrashState::empty, TrashState::pending}) {
    stale.state = state;
    EXPECT_TRUE(settle_pending(Fs(), store(), stale).has_value());
    EXPECT_TRUE(exists(in_trash(stale.id + ".record")));
    EXPECT_TRUE(exists(in_trash(stale.id + ".seal")));
  }
  fake_.forget_builds();
  EXPECT_EQ(pfnm({"link"}, two_).rc, 0);
  EXPECT_EQ(fake_.builds(), 0U);
}

}  // namespace
}  // namespace pfnm::test
