// `pfnm link`: what a linked worktree is, and what a second and a third link do to it.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/project_fixture.hpp"

namespace pfnm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Link : public ProjectTest {};

TEST_F(Link, BuildsTheInstallAndMakesEveryPackageAvailable) {
  Json json = pfnm_json({"link"}, one_);
  EXPECT_EQ(json["action"], "built");
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(Link, SaysInJsonWhatItDid) {
  Json json = pfnm_json({"link"}, one_);
  EXPECT_EQ(json["schema"], "pfnm.link/1");
  EXPECT_EQ(json["worktree"], one_);
  EXPECT_EQ(json["install"], install());
  EXPECT_EQ(json["layout"], "links");
  EXPECT_EQ(json["intact"], true);
  EXPECT_EQ(scratch().store() + "/" + json["key"].get<std::string>(), install());
  EXPECT_EQ(json["tampered"], Json::array());
}

TEST_F(Link, GivesASecondWorktreeTheSameInstallWithoutBuilding) {
  Json first = pfnm_json({"link"}, one_);
  const std::string two = repo_.add_worktree("two");
  Json second = pfnm_json({"link"}, two);
  EXPECT_EQ(second["action"], "linked");
  EXPECT_EQ(second["install"], first["install"]);
  EXPECT_EQ(fake_.builds(), 1U);
  EXPECT_THAT(layout_problems(two, mini_project().first), IsEmpty());
}

TEST_F(Link, TouchesNothingWhenTheLockIsTheSame) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const Tree before = photograph(one_);
  EXPECT_EQ(pfnm_json({"link"}, one_)["action"], "unchanged");
  EXPECT_THAT(differences(before, photograph(one_)), IsEmpty());
}

TEST_F(Link, ChangesNothingInTheStoreWhenTheLockIsTheSame) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const Tree before = photograph(scratch().store());
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_THAT(differences(before, photograph(scratch().store())), IsEmpty());
}

TEST_F(Link, FollowsAnotherLockByTouchingOnlyNamesThatDiffer) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const Tree before = photograph(one_ + "/node_modules");
  switch_to(mini_project().second, one_);
  EXPECT_EQ(pfnm_json({"link"}, one_)["action"], "relinked");
  EXPECT_THAT(layout_problems(one_, mini_project().second), IsEmpty());
  const Tree after = photograph(one_ + "/node_modules");
  // The same link text serves both versions; only the hop moved.
  for (const char* name : {"plain-a", "plain-b", "x", "with-script", "@scope/two", "ws-a", "@mini/ws-b", ".cache"}) {
    EXPECT_EQ(before.at(name).ino, after.at(name).ino) << name;
    EXPECT_EQ(before.at(name).mtime_ns, after.at(name).mtime_ns) << name;
  }
}

TEST_F(Link, GoesBackToAFormerLockWithoutBuildingAgain) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  switch_to(mini_project().second, one_);
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  switch_to(mini_project().first, one_);
  EXPECT_EQ(pfnm_json({"link"}, one_)["action"], "relinked");
  EXPECT_EQ(fake_.builds(), 2U);
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(Link, KeepsWhatIsInWritableDirectoriesOverARelink) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(one_ + "/node_modules/.cache/tool/entry", "kept");
  switch_to(mini_project().second, one_);
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(read_text(one_ + "/node_modules/.cache/tool/entry"), "kept");
}

TEST_F(Link, MovesAsideAndNamesAPackageThatSomebodyPutThere) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(one_ + "/node_modules/mine/index.js", "by hand");
  Json json = pfnm_json({"link"}, one_);
  EXPECT_EQ(json["moved_aside"], Json::array({"node_modules/mine"}));
  EXPECT_EQ(read_text(one_ + "/" + json["aside"].get<std::string>() + "/node_modules/mine/index.js"), "by hand");
  EXPECT_FALSE(exists(one_ + "/node_modules/mine"));
}

TEST_F(Link, MovesAsideACopyThatTheNewLockHasInAnotherVersion) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(one_ + "/node_modules/needs-ws/local.txt", "an edit");
  switch_to(mini_project().second, one_);
  Json json = pfnm_json({"link"}, one_);
  EXPECT_EQ(json["moved_aside"], Json::array({"node_modules/needs-ws"}));
  EXPECT_EQ(read_text(one_ + "/" + json["aside"].get<std::string>() + "/node_modules/needs-ws/local.txt"), "an edit");
}

TEST_F(Link, KeepsACopyOfItsOwnWhileItsVersionStaysTheSame) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(one_ + "/node_modules/needs-ws/local.txt", "an edit");
  delete_tree(one_ + "/node_modules/plain-a");
  EXPECT_EQ(pfnm_json({"link"}, one_)["action"], "relinked");
  EXPECT_EQ(read_text(one_ + "/node_modules/needs-ws/local.txt"), "an edit");
}

TEST_F(Link, PutsBackALinkThatWasReplacedByADirectory) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  delete_tree(one_ + "/node_modules/plain-a");
  write_text(one_ + "/node_modules/plain-a/index.js", "edited copy");
  Json json = pfnm_json({"link"}, one_);
  EXPECT_EQ(json["action"], "relinked");
  EXPECT_EQ(json["moved_aside"], Json::array({"node_modules/plain-a"}));
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(Link, HealsAfterTheStoreWasWiped) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  delete_tree(scratch().store());
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(fake_.builds(), 2U);
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(Link, LinksWorkspacesToTheWorktreesOwnDirectories) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(link_text(one_ + "/node_modules/ws-a"), "../packages/a");
  EXPECT_EQ(link_text(one_ + "/node_modules/@mini/ws-b"), "../../packages/b");
}

TEST_F(Link, GivesAWorkspaceItsOwnVersionOfAConflictingPackage) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_THAT(read_text(one_ + "/packages/a/node_modules/x/index.js"), HasSubstr("x@2.0.0"));
  EXPECT_THAT(read_text(one_ + "/node_modules/x/index.js"), HasSubstr("x@1.0.0"));
}

TEST_F(Link, CopiesAPackageThatReachesAWorkspace) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(link_text(one_ + "/node_modules/needs-ws"), "");
  EXPECT_THAT(read_text(one_ + "/node_modules/needs-ws/package.json"), HasSubstr("needs-ws"));
}

TEST_F(Link, LeavesGitStatusClean) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(repo_.status(one_), "");
  EXPECT_EQ(repo_.status(repo_.root()), "");
}

TEST_F(Link, LeavesTheModeOfAWorkspacesBinaryAlone) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(photograph(one_ + "/packages/b").at("cli.js").mode, 0644U);
  EXPECT_THAT(read_text(one_ + "/node_modules/.bin/ws-tool"), ::testing::StartsWith("#!/bin/sh\nexec node "));
}

TEST_F(Link, ExcludesNodeModulesWhereNoGitignoreDoes) {
  write_text(one_ + "/.gitignore", "dist/\n");
  repo_.commit_all(one_);
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(repo_.status(one_), "");
  EXPECT_THAT(read_text(repo_.root() + "/.git/info/exclude"), HasSubstr("node_modules/\n"));
}

TEST_F(Link, MakesTheInstallReadOnly) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  for (const auto& [path, entry] : photograph(install())) {
    if (entry.type == 'l') continue;
    EXPECT_EQ(entry.mode & 0222U, 0U) << path;
  }
}

TEST_F(Link, MarksTheTreeWithItsInstall) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(link_text(one_ + "/node_modules/.pf-shared"), ".pf/shared");
  EXPECT_EQ(link_text(one_ + "/node_modules/.pf/shared"), install());
}

TEST_F(Link, GivesTheHiddenLockATimeInTheFarFuture) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  struct stat st {};
  ASSERT_EQ(::lstat((one_ + "/node_modules/.package-lock.json").c_str(), &st), 0);
  EXPECT_EQ(st.st_mtim.tv_sec, 2145830400);
}

TEST_F(Link, WritesTheSameHiddenLockIntoEveryWorktree) {
  const std::string two = repo_.add_worktree("two");
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  ASSERT_EQ(pfnm({"link"}, two).rc, 0);
  EXPECT_EQ(read_text(one_ + "/node_modules/.package-lock.json"), read_text(two + "/node_modules/.package-lock.json"));
}

TEST_F(Link, WorksFromADirectoryInsideTheWorktree) {
  ASSERT_EQ(pfnm({"link"}, one_ + "/packages/a").rc, 0);
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(Link, TakesTheWorktreeAsAnArgument) {
  ASSERT_EQ(pfnm({"link", one_}, at("home")).rc, 0);
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(Link, WorksInTheMainCheckout) {
  ASSERT_EQ(pfnm({"link"}, repo_.root()).rc, 0);
  EXPECT_THAT(layout_problems(repo_.root(), mini_project().first), IsEmpty());
}

TEST_F(Link, NamesTheProjectsScriptsThatWereNotRun) {
  const RunResult result = pfnm({"link"}, one_);
  EXPECT_THAT(result.err, HasSubstr("postinstall"));
  EXPECT_FALSE(exists(one_ + "/root-script-ran"));
  EXPECT_THAT(pfnm({"link"}, one_).err, ::testing::Not(HasSubstr("postinstall")));
}

TEST_F(Link, LeavesOutAWorkspaceThatIsNotCheckedOut) {
  delete_tree(one_ + "/packages/a");
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_FALSE(exists(one_ + "/packages/a"));
  EXPECT_EQ(pfnm_json({"link"}, one_)["action"], "unchanged");
}

TEST_F(Link, ReplacesAnEmptyNodeModules) {
  make_dirs(one_ + "/node_modules");
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(Link, MergesIntoAWorkspacesOwnNodeModules) {
  write_text(one_ + "/packages/a/node_modules/.cache/kept", "kept");
  write_text(one_ + "/packages/a/node_modules/mine/index.js", "by hand");
  Json json = pfnm_json({"link"}, one_);
  EXPECT_EQ(read_text(one_ + "/packages/a/node_modules/.cache/kept"), "kept");
  EXPECT_EQ(json["moved_aside"], Json::array({"packages/a/node_modules/mine"}));
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

}  // namespace
}  // namespace pfnm::test
