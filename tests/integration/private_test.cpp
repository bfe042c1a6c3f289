// `pfnm private`: an independent, writable copy, equal to what npm itself makes.
#include <gmock/gmock.h>

#include "tests/support/project_fixture.hpp"

namespace pfnm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Private : public ProjectTest {};

bool is_ours_or_a_cache(const std::string& path) {
  // The hidden lock is compared apart; npm makes no caches and no marks.
  return path == ".worktree-provisioned" || path == ".pf-aside" || path == ".cache" || path == ".vite" ||
         path == ".vite-temp" || path == ".vitest" || path == ".vitest-cache" || path == ".tmp";
}

// npm sets the execute bit of a workspace's binary in the source; pfnm makes a wrapper instead (SPEC 3.4).
bool is_skipped(const std::string& path) { return is_ours_or_a_cache(path) || path == ".bin/ws-tool"; }

TEST_F(Private, EqualsTheTreeThatNpmMakes) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(pfnm_json({"private"}, one_)["action"], "private");
  const std::string plain = mini_project().first.plain;
  EXPECT_THAT(differences(photograph(plain + "/node_modules", is_skipped), photograph(one_ + "/node_modules", is_skipped),
                          Compare::content),
              IsEmpty());
  EXPECT_THAT(differences(photograph(plain + "/packages/a/node_modules"), photograph(one_ + "/packages/a/node_modules"),
                          Compare::content),
              IsEmpty());
}

TEST_F(Private, EqualsTheTreeThatNpmMakesWithoutALinkBefore) {
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  EXPECT_THAT(differences(photograph(mini_project().first.plain + "/node_modules", is_skipped),
                          photograph(one_ + "/node_modules", is_skipped), Compare::content),
              IsEmpty());
}

TEST_F(Private, IsWritableEverywhere) {
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  for (const auto& [path, entry] : photograph(one_ + "/node_modules"))
    EXPECT_TRUE(entry.type == 'l' || (entry.mode & 0200U) != 0U) << path;
}

TEST_F(Private, SharesNoInodeWithTheInstall) {
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  const Tree shared = photograph(install() + "/node_modules");
  for (const auto& [path, entry] : photograph(one_ + "/node_modules")) {
    const auto at = shared.find(path);
    if (at == shared.end()) continue;
    EXPECT_NE(entry.ino, at->second.ino) << path;
  }
}

TEST_F(Private, SaysInJsonWhatItCopied) {
  Json json = pfnm_json({"private"}, one_);
  EXPECT_EQ(json["schema"], "pfnm.private/1");
  EXPECT_EQ(json["layout"], "private");
  EXPECT_GT(json["entries"].get<int>(), 10);
  EXPECT_GT(json["bytes"].get<int>(), 100);
}

TEST_F(Private, LeavesNothingThatNamesTheInstall) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  EXPECT_FALSE(exists(one_ + "/node_modules/.pf-shared"));
  EXPECT_FALSE(exists(one_ + "/node_modules/.pf"));
  EXPECT_THAT(read_text(one_ + "/node_modules/.worktree-provisioned"), HasSubstr("layout private"));
  EXPECT_THAT(names_in(scratch().store() + "/.pf/references"), IsEmpty());
}

TEST_F(Private, KeepsTheWorktreesCaches) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(one_ + "/node_modules/.cache/tool/entry", "cached");
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  EXPECT_EQ(read_text(one_ + "/node_modules/.cache/tool/entry"), "cached");
}

TEST_F(Private, KeepsAnEditOfACopiedPackage) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(one_ + "/node_modules/needs-ws/local.txt", "an edit");
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  EXPECT_EQ(read_text(one_ + "/node_modules/needs-ws/local.txt"), "an edit");
}

TEST_F(Private, MovesAsideAPackageThatSomebodyPutThere) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(one_ + "/node_modules/mine/index.js", "by hand");
  Json json = pfnm_json({"private"}, one_);
  EXPECT_EQ(json["moved_aside"], Json::array({"node_modules/mine"}));
  EXPECT_EQ(read_text(one_ + "/" + json["aside"].get<std::string>() + "/node_modules/mine/index.js"), "by hand");
}

TEST_F(Private, IsLeftAloneByLink) {
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  const Tree before = photograph(one_);
  Json json = pfnm_json({"link"}, one_);
  EXPECT_EQ(json["action"], "private");
  EXPECT_THAT(differences(before, photograph(one_)), IsEmpty());
}

TEST_F(Private, IsLeftAloneByTheHook) {
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  switch_to(mini_project().second, one_);
  const Tree before = photograph(one_);
  EXPECT_EQ(pfnm({"hook", "post-checkout", "a", "b", "1"}, one_).rc, 0);
  EXPECT_THAT(differences(before, photograph(one_)), IsEmpty());
}

TEST_F(Private, IsMadeLinksAgainByLinkForce) {
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  write_text(one_ + "/node_modules/mine/index.js", "by hand");
  Json json = pfnm_json({"link", "--force"}, one_);
  EXPECT_EQ(json["action"], "linked");
  EXPECT_EQ(read_text(json["trashed"].get<std::string>() + "/mine/index.js"), "by hand");
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(Private, DoesNothingTheSecondTime) {
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  const Tree before = photograph(one_);
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  EXPECT_THAT(differences(before, photograph(one_)), IsEmpty());
}

TEST_F(Private, LeavesGitStatusCleanAndTheModeOfAWorkspacesBinaryAlone) {
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  EXPECT_EQ(repo_.status(one_), "");
  EXPECT_EQ(photograph(one_ + "/packages/b").at("cli.js").mode, 0644U);
}

TEST_F(Private, IsWhatModeCloneMeans) {
  EXPECT_EQ(pfnm_json({"link"}, one_, {"PF_NM_MODE=clone"})["layout"], "private");
}

TEST_F(Private, LeavesTheInstallAsItWas) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const Tree before = photograph(install());
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  write_text(one_ + "/node_modules/plain-a/index.js", "changed");
  delete_tree(one_ + "/node_modules/plain-b");
  EXPECT_THAT(differences(before, photograph(install())), IsEmpty());
}

}  // namespace
}  // namespace pfnm::test
