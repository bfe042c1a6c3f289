// What nothing uses goes: to the trash first, from where link takes it back, and for good a day later. And what is
// strange is left alone.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/gc_driver.hpp"

namespace pfnm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GcReclaims : public GcTest {
 protected:
  void SetUp() override {
    build_unused_install();
    key_ = second_install();
    install_ = store().paths.install(key_);
  }
  Json run_gc(std::int64_t ahead = k_two_days) {
    GcDrive drive;
    drive.ahead = ahead;
    const Ended ended = gc(drive);
    EXPECT_EQ(ended.rc, 0) << ended.out << ended.err;
    expect_sound("after a gc");
    expect_ledger_tells_the_truth("after a gc");
    return ended.json();
  }
  [[nodiscard]] static std::string reasons_of(const Json& answer, const std::string& key) {
    for (const Json& install : answer.value("installs", Json::array()))
      if (install["key"] == key) return install["reasons"].dump();
    return "not listed";
  }
  // What a build leaves that was killed.
  std::string leave_interrupted_build(const std::string& key, std::int64_t started) {
    const std::string directory = scratch().store() + "/" + key;
    write_text(directory + "/.pf/intent", "pfnm-intent 1\nstarted " + std::to_string(started) + "\nend\n");
    write_text(directory + "/node_modules/half/index.js", "x");
    return directory;
  }

  InstallName key_;
  std::string install_;
};

TEST_F(GcReclaims, WhatNothingUses) {
  const Tree first = photograph(store().paths.root(), [&](const std::string& path) {
    return path.starts_with(".pf") || path.starts_with(key_.text);
  });
  const Tree before = photograph(install_);
  const Json answer = run_gc();
  EXPECT_EQ(answer.value("reclaimed", 0), 1) << answer.dump();
  EXPECT_THAT(reasons_of(answer, key_.text), HasSubstr("unreferenced"));
  EXPECT_FALSE(exists(install_));
  EXPECT_FALSE(exists(store().paths.seal(key_)));
  const Trash left = trash();
  ASSERT_EQ(left.items.size(), 1U);
  EXPECT_EQ(left.items.front().install, key_);
  EXPECT_EQ(left.items.front().from, install_);
  // Whole, but for the top's write bit.
  Tree in_it = photograph(in_trash(left.items.front().id));
  in_it[""].mode = before.at("").mode;
  EXPECT_THAT(differences(before, in_it), IsEmpty());
  const Tree after = photograph(store().paths.root(), [&](const std::string& path) {
    return path.starts_with(".pf") || path.starts_with(key_.text);
  });
  Tree others = first;
  others[""] = after.at("");  // the store's own time
  EXPECT_THAT(differences(others, after), IsEmpty()) << "the other install is as it was";
}

TEST_F(GcReclaims, ThePlanIsWhatIsDone) {
  GcDrive drive;
  drive.apply = Apply::no;
  const Json plan = gc(drive).json();
  EXPECT_EQ(plan.value("chosen", 0), 1);
  EXPECT_FALSE(plan.value("applied", true));
  const Json done = run_gc();
  EXPECT_EQ(done.value("chosen", 0), 1);
  EXPECT_EQ(done["installs"], plan["installs"]);
  EXPECT_EQ(done.value("chosen_bytes", 0), plan.value("chosen_bytes", 1));
}

// The facts of the plan may be minutes old.
TEST_F(GcReclaims, NotWhatIsUsedByTheTimeThatItsTurnComes) {
  CountingHook hook({CountingHook::How::call, 1, 0, [this] {
                       make_dirs(at("trees/box/.pf"));
                       std::ignore = ::symlink(install_.c_str(), at("trees/box/.pf/shared").c_str());
                     }});
  GcDrive drive;
  drive.hook = &hook;
  const Ended ended = gc(drive);
  EXPECT_EQ(ended.rc, 0) << ended.err;
  EXPECT_EQ(ended.json().value("chosen", 0), 1) << "as it was planned: " << ended.out;
  EXPECT_EQ(ended.json().value("reclaimed", 9), 0) << ended.out;
  EXPECT_THAT(ended.json()["outcomes"].dump(), HasSubstr("referenced: " + at("trees/box")));
  EXPECT_TRUE(exists(store().paths.seal(key_)));
}

TEST_F(GcReclaims, WhatARemovedWorktreeUsedAndLaterItsRecord) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  repo_.git(repo_.root(), {"worktree", "remove", "--force", two_});
  ASSERT_EQ(names_in(store().paths.references()).size(), 2U);
  run_gc(23 * 3600);
  EXPECT_TRUE(exists(install_));
  EXPECT_EQ(names_in(store().paths.references()).size(), 2U) << "it says until when the install was used";
  EXPECT_EQ(run_gc().value("reclaimed", 0), 1);
  EXPECT_EQ(names_in(store().paths.references()).size(), 1U);
}

TEST_F(GcReclaims, WhatAWorktreeNamesNoLonger) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  delete_tree(two_ + "/node_modules");
  EXPECT_EQ(run_gc().value("reclaimed", 0), 1);
}

TEST_F(GcReclaims, OfManyOnlyWhatNothingUses) {
  ASSERT_EQ(pfnm({"link"}, repo_.root()).rc, 0);
  const Json answer = run_gc();
  EXPECT_EQ(answer["installs"].size(), 2U);
  EXPECT_EQ(answer.value("reclaimed", 0), 1);
  expect_provisioned("one", one_, mini_project().first);
  expect_provisioned("root", repo_.root(), mini_project().first);
  EXPECT_EQ(pfnm_json({"status"}, one_)["intact"], true);
}

TEST_F(GcReclaims, LinkTakesItBackFromTheTrash) {
  const Tree before = photograph(install_);
  run_gc();
  fake_.forget_builds();
  EXPECT_EQ(pfnm_json({"link"}, two_)["install"], install_);
  EXPECT_EQ(fake_.builds(), 0U);
  EXPECT_THAT(differences(before, photograph(install_)), IsEmpty());
  EXPECT_THAT(names_in(store().paths.trash()), IsEmpty());
  expect_provisioned("taken back", two_, mini_project().second);
  EXPECT_EQ(run_gc().value("reclaimed", 9), 0) << "it is used again";
  EXPECT_EQ(pfnm({"install", "verify", key_.text}, two_).rc, 0);
}

// A copy in a place that nobody can know of.
TEST_F(GcReclaims, ACopyInAnUnknownPlaceHealsByLink) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  make_dirs(at("unknown/deep/down/here"));
  repo_.git(repo_.root(), {"clone", "-q", repo_.root(), at("unknown/deep/down/here/clone")});
  const std::string copy = at("unknown/deep/down/here/clone");
  switch_to(mini_project().second, copy);
  copy_tree(two_ + "/node_modules", copy + "/node_modules");
  repo_.git(repo_.root(), {"worktree", "remove", "--force", two_});
  EXPECT_EQ(run_gc().value("reclaimed", 0), 1);
  fake_.forget_builds();
  EXPECT_EQ(pfnm({"link"}, copy).rc, 0);
  EXPECT_EQ(fake_.builds(), 0U);
  EXPECT_TRUE(exists(install_));
}

TEST_F(GcReclaims, ForGoodAfterADay) {
  run_gc();
  ASSERT_EQ(trash().items.size(), 1U);
  EXPECT_EQ(run_gc(23 * 3600).value("removed", 9), 0);
  EXPECT_EQ(trash().items.size(), 1U);
  const Json answer = run_gc(25 * 3600);
  EXPECT_EQ(answer.value("removed", 0), 1) << answer.dump();
  EXPECT_THAT(names_in(store().paths.trash()), IsEmpty());
  fake_.forget_builds();
  EXPECT_EQ(pfnm({"link"}, two_).rc, 0);
  EXPECT_EQ(fake_.builds(), 1U);
  expect_provisioned("built anew", two_, mini_project().second);
}

TEST_F(GcReclaims, NoTrashThatNobodyCanExplain) {
  write_text(in_trash("mystery/file"), "x");
  write_text(in_trash("t-without-record/file"), "x");
  write_text(in_trash("t-damaged.record"), "pfnm-trash 1\nfrom ");
  write_text(in_trash("t-damaged/file"), "x");
  const Tree before = photograph(store().paths.trash());
  for (const std::int64_t ahead : {k_two_days, 100 * k_two_days}) {
    GcDrive drive;
    drive.ahead = ahead;
    const Ended ended = gc(drive);
    EXPECT_EQ(ended.rc, 0) << ended.err;
    EXPECT_EQ(ended.json()["unexplained"],
              Json::array({"mystery", "t-damaged", "t-damaged.record", "t-without-record"}));
  }
  Tree after = photograph(store().paths.trash());
  for (auto at = after.begin(); at != after.end();) {
    const bool theirs =
        at->first.starts_with("mystery") || at->first.starts_with("t-without") || at->first.starts_with("t-damaged");
    at = theirs ? std::next(at) : after.erase(at);
  }
  after[""] = before.at("");  // the install came here as well
  EXPECT_THAT(differences(before, after), IsEmpty());
}

TEST_F(GcReclaims, AnInterruptedBuildAfterADay) {
  const std::string key(64, 'e');
  const std::string directory = leave_interrupted_build(key, seconds_now());
  EXPECT_THAT(reasons_of(run_gc(23 * 3600), key), HasSubstr("its build started under a day ago"));
  EXPECT_TRUE(exists(directory));
  EXPECT_THAT(reasons_of(run_gc(), key), HasSubstr("an interrupted build"));
  EXPECT_FALSE(exists(directory));
  run_gc();
  EXPECT_THAT(names_in(store().paths.trash()), IsEmpty());
}

TEST_F(GcReclaims, NothingForeign) {
  const std::string key(64, 'f');
  write_text(scratch().store() + "/" + key + "/node_modules/x/index.js", "an older helper's");
  write_text(scratch().store() + "/documents/thesis", "years of work");
  write_text(scratch().store() + "/" + std::string(64, 'd'), "a file");
  const auto mine = [](const std::string& path) { return path.empty() || path.starts_with(".pf"); };
  run_gc();
  const Tree before = photograph(scratch().store(), mine);
  const Json answer = run_gc(100 * k_two_days);
  EXPECT_EQ(reasons_of(answer, key), "not listed");
  EXPECT_THAT(differences(before, photograph(scratch().store(), mine)), IsEmpty());
}

// Somebody moved it to another disk and put a link in its place.
TEST_F(GcReclaims, NoInstallThatSomethingElseHasTakenThePlaceOf) {
  ASSERT_EQ(::chmod(install_.c_str(), 0755), 0);
  ASSERT_EQ(::rename(install_.c_str(), at("elsewhere").c_str()), 0);
  ASSERT_EQ(::symlink(at("elsewhere").c_str(), install_.c_str()), 0);
  const Tree before = photograph(at("elsewhere"));
  const Ended ended = gc();
  EXPECT_EQ(ended.rc, 0) << ended.err;
  EXPECT_THAT(reasons_of(ended.json(), key_.text), HasSubstr("something that is no directory has its name"));
  EXPECT_EQ(link_text(install_), at("elsewhere"));
  EXPECT_THAT(differences(before, photograph(at("elsewhere"))), IsEmpty());
  EXPECT_TRUE(exists(store().paths.seal(key_)));
}

// The seal of a directory that is gone is no install: there is nothing to reclaim, and the next link builds it.
TEST_F(GcReclaims, NothingWhereTheDirectoryIsGone) {
  ASSERT_EQ(::chmod(install_.c_str(), 0755), 0);
  delete_tree(install_);
  EXPECT_EQ(gc().json().value("reclaimed", 9), 0);
  EXPECT_EQ(pfnm({"link"}, two_).rc, 0);
  expect_provisioned("built anew", two_, mini_project().second);
}

}  // namespace
}  // namespace pfnm::test
