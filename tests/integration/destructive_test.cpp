// What people and tools do to a node_modules (real npm, offline): the shared install survives it byte for byte, and the
// next link heals the worktree.
#include <gmock/gmock.h>

#include "tests/support/project_fixture.hpp"

namespace pfnm::test {
namespace {

using ::testing::IsEmpty;

class Destructive : public RealNpmTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
    install_ = install();
    before_ = photograph(install_);
  }

  void expect_install_untouched() const { EXPECT_THAT(differences(before_, photograph(install_)), IsEmpty()); }

  void expect_link_heals(const std::vector<std::string>& arguments = {"link"}) const {
    const RunResult healed = pfnm(arguments, one_);
    EXPECT_EQ(healed.rc, 0) << healed.all();
    EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
    EXPECT_EQ(pfnm_json({"status"}, one_)["intact"], true);
    expect_install_untouched();
  }

  void put_back_manifests() const { repo_.git(one_, {"checkout", "-q", "--", "package.json", "package-lock.json"}); }

  std::string install_;
  Tree before_;
};

TEST_F(Destructive, RemovingNodeModulesLeavesTheInstall) {
  ASSERT_EQ(tool({"rm", "-rf", "node_modules"}, one_).rc, 0);
  expect_install_untouched();
  expect_link_heals();
}

TEST_F(Destructive, RemovingWhatIsBehindEveryNameLeavesTheInstall) {
  if (runs_as_root()) GTEST_SKIP() << "root may write into the install through a link (verify finds it)";
  std::ignore = tool({"sh", "-c", "rm -rf node_modules/*/ node_modules/*/*"}, one_);
  expect_install_untouched();
  repo_.git(one_, {"checkout", "-q", "."});  // the workspaces are the worktree's own
  expect_link_heals();
}

TEST_F(Destructive, GivingWriteBitsBackLeavesTheInstall) {
  std::ignore = tool({"chmod", "-R", "u+w", "node_modules"}, one_);
  expect_install_untouched();
  expect_link_heals();
}

TEST_F(Destructive, GitCleanLeavesTheInstall) {
  repo_.git(one_, {"clean", "-q", "-fdx"});
  EXPECT_FALSE(exists(one_ + "/node_modules"));
  expect_install_untouched();
  expect_link_heals();
}

TEST_F(Destructive, RemovingTheWorktreeLeavesTheInstall) {
  repo_.git(repo_.root(), {"worktree", "remove", "--force", one_});
  EXPECT_FALSE(exists(one_));
  expect_install_untouched();
}

TEST_F(Destructive, NpmCiLeavesTheInstallAndAnUnmarkedTreeThatForceReplaces) {
  const RunResult ci = tool({"npm", "ci", "--offline"}, one_);
  ASSERT_EQ(ci.rc, 0) << ci.all();
  expect_install_untouched();
  repo_.git(one_, {"checkout", "-q", "."});  // npm sets the execute bit of the workspace's binary
  EXPECT_EQ(pfnm({"link"}, one_).rc, 6);
  expect_link_heals({"link", "--force"});
}

TEST_F(Destructive, NpmPruneLeavesTheInstall) {
  std::ignore = tool({"npm", "prune", "--offline"}, one_);
  expect_install_untouched();
  put_back_manifests();
  repo_.git(one_, {"checkout", "-q", "."});
  expect_link_heals();
}

TEST_F(Destructive, NpmInstallOfAPackageLeavesTheInstall) {
  make_tarball(at("local-1.0.0.tgz"), R"({"name": "local", "version": "1.0.0", "main": "index.js"})",
               {{"index.js", "module.exports = 'local';\n"}});
  std::ignore = tool({"npm", "install", "--offline", at("local-1.0.0.tgz")}, one_);
  expect_install_untouched();
  put_back_manifests();
  repo_.git(one_, {"checkout", "-q", "."});
  expect_link_heals();
}

TEST_F(Destructive, NpmRebuildLeavesTheInstall) {
  if (runs_as_root()) GTEST_SKIP() << "root's install scripts may write into the install (verify finds it)";
  std::ignore = tool({"npm", "rebuild", "--offline"}, one_);
  // npm sets the execute bits of binaries, and an owner may change the mode of a read-only file; the contents stay, and
  // the next link puts the mode back or names the file.
  const auto without_modes = [&](Tree tree) {
    for (auto& [path, entry] : tree) entry.mode = 0;
    return tree;
  };
  EXPECT_THAT(differences(without_modes(before_), without_modes(photograph(install_))), IsEmpty());
  repo_.git(one_, {"checkout", "-q", "."});
  const Json linked = pfnm_json({"link"}, one_);
  if (linked["tampered"].empty()) {
    expect_install_untouched();
  } else {
    EXPECT_EQ(linked["tampered"][0]["path"], "node_modules/with-bin/bin/with-bin.js");
  }
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(Destructive, AScriptThatWritesIntoAPackageIsStopped) {
  if (runs_as_root()) GTEST_SKIP() << "mode bits do not stop root";
  EXPECT_NE(tool({"sh", "-c", "echo evil > node_modules/plain-a/index.js"}, one_).rc, 0);
  EXPECT_NE(tool({"sh", "-c", "echo evil > node_modules/plain-a/new.js"}, one_).rc, 0);
  EXPECT_NE(tool({"sh", "-c", "mv node_modules/plain-a/lib node_modules/plain-a/bil"}, one_).rc, 0);
  expect_install_untouched();
}

}  // namespace
}  // namespace pfnm::test
