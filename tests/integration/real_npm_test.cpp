// Builds with the real npm, and what node and npm make of a linked worktree.
#include <gmock/gmock.h>

#include "tests/support/project_fixture.hpp"

namespace pfnm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class RealNpm : public RealNpmTest {
 protected:
  void SetUp() override {
    const RunResult linked = pfnm({"link"}, one_);
    ASSERT_EQ(linked.rc, 0) << linked.all();
  }
  [[nodiscard]] std::string node(const std::string& script, const std::string& directory) const {
    const RunResult result = tool({"node", "-e", script}, directory);
    EXPECT_EQ(result.rc, 0) << result.all();
    return result.out;
  }
};

TEST_F(RealNpm, BuildsTheTreeThatNpmCiMakes) {
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(RealNpm, RunsTheInstallScriptsOfDependencies) {
  EXPECT_EQ(read_text(one_ + "/node_modules/with-script/built.txt"), "built here\n");
}

TEST_F(RealNpm, DoesNotRunTheProjectsOwnScripts) {
  EXPECT_FALSE(exists(one_ + "/root-script-ran"));
  EXPECT_FALSE(exists(install() + "/root-script-ran"));
}

TEST_F(RealNpm, LeavesNoNpmrcInTheInstall) {
  write_text(one_ + "/.npmrc", "fund=false\n");
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  for (const std::string& path : installs()) EXPECT_FALSE(exists(path + "/.npmrc")) << path;
}

TEST_F(RealNpm, ResolvesEveryPackageToTheVersionOfTheLock) {
  const std::string script = R"(
    const lock = require('./package-lock.json').packages;
    for (const [path, entry] of Object.entries(lock)) {
      if (!/^node_modules\//.test(path) || entry.link) continue;
      const name = path.slice('node_modules/'.length);
      const found = require(require.resolve(name + '/package.json')).version;
      if (found !== entry.version) console.log(name, found, entry.version);
    })";
  EXPECT_EQ(node(script, one_), "");
}

TEST_F(RealNpm, LetsAPackageFindItsDependency) {
  EXPECT_THAT(node("console.log(require(require.resolve('plain-b', {paths: [require.resolve('plain-a')]})))", one_),
              HasSubstr("plain-b@1.0.0"));
}

TEST_F(RealNpm, LetsACopiedPackageFindTheWorktreesOwnWorkspace) {
  EXPECT_EQ(node("console.log(require('needs-ws/uses.js'))", one_), "ws-a of " + one_ + "/packages/a\n");
}

TEST_F(RealNpm, ShowsAWorkspaceChangeInItsOwnWorktreeOnly) {
  const std::string two = repo_.add_worktree("two");
  ASSERT_EQ(pfnm({"link"}, two).rc, 0);
  write_text(one_ + "/packages/a/index.js", "module.exports = 'changed';\n");
  EXPECT_EQ(node("console.log(require('ws-a'))", one_), "changed\n");
  EXPECT_THAT(node("console.log(require('ws-a'))", two), StartsWith("ws-a of " + two));
}

TEST_F(RealNpm, ListsTheTreeAsAPlainInstallDoes) {
  const RunResult plain = tool({"npm", "ls", "--all"}, mini_project().first.plain);
  const RunResult linked = tool({"npm", "ls", "--all"}, one_);
  EXPECT_EQ(plain.rc, 0) << plain.all();
  EXPECT_EQ(linked.rc, plain.rc) << linked.all();
}

TEST_F(RealNpm, ListsATarballDependencyAsAPlainInstallDoes) {
  // The one dependency of the project that names its tarball itself.
  const std::string range = R"("x": "1.0.0")";
  const std::string tarball = R"("x": "file:tgz/x-1.0.0.tgz")";
  for (const char* name : {"/package.json", "/package-lock.json"}) {
    std::string text = read_text(one_ + name);
    ASSERT_NE(text.find(range), std::string::npos) << name;
    write_text(one_ + name, text.replace(text.find(range), range.size(), tarball));
  }
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const RunResult linked = tool({"npm", "ls", "--all"}, one_);
  EXPECT_EQ(linked.rc, 0) << linked.all();
}

TEST_F(RealNpm, ListsTheTreeAfterANewFileInAWorkspaceAndANewDotDirectory) {
  write_text(one_ + "/packages/b/new.js", "1\n");
  make_dirs(one_ + "/node_modules/.some-tool");
  const RunResult linked = tool({"npm", "ls", "--all"}, one_);
  EXPECT_EQ(linked.rc, 0) << linked.all();
}

TEST_F(RealNpm, RunsABinaryOfADependency) {
  const RunResult result = tool({"npm", "run", "hello"}, one_);
  EXPECT_EQ(result.rc, 0) << result.all();
  EXPECT_THAT(result.out, HasSubstr("with-bin runs"));
}

TEST_F(RealNpm, RunsABinaryOfAWorkspaceWithoutChangingItsMode) {
  const RunResult result = tool({"npm", "run", "tool"}, one_);
  EXPECT_EQ(result.rc, 0) << result.all();
  EXPECT_THAT(result.out, HasSubstr("ws-tool in " + one_ + "/packages/b"));
  EXPECT_EQ(repo_.status(one_), "");
}

TEST_F(RealNpm, RunsBinariesWithNpx) {
  const RunResult dependency = tool({"npx", "--no", "with-bin"}, one_);
  EXPECT_THAT(dependency.out, HasSubstr("with-bin runs")) << dependency.all();
  const RunResult workspace = tool({"npx", "--no", "ws-tool"}, one_);
  EXPECT_THAT(workspace.out, HasSubstr("ws-tool in")) << workspace.all();
  EXPECT_EQ(repo_.status(one_), "");
}

TEST_F(RealNpm, MakesAPrivateCopyInWhichNpmInstallTouchesNothingShared) {
  const Tree before = photograph(install());
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  make_tarball(at("local-1.0.0.tgz"), R"({"name": "local", "version": "1.0.0", "main": "index.js"})",
               {{"index.js", "module.exports = 'local';\n"}});
  const RunResult installed = tool({"npm", "install", "--offline", at("local-1.0.0.tgz")}, one_);
  ASSERT_EQ(installed.rc, 0) << installed.all();
  EXPECT_EQ(node("console.log(require('local'))", one_), "local\n");
  EXPECT_THAT(differences(before, photograph(install())), IsEmpty());
}

TEST_F(RealNpm, MakesAPrivateCopyThatNpmListsAsItsOwn) {
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  const RunResult listed = tool({"npm", "ls", "--all"}, one_);
  EXPECT_EQ(listed.rc, 0) << listed.all();
}

TEST_F(RealNpm, MakesAPrivateCopyEqualToNpmsTree) {
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  const auto skip = [](const std::string& path) {
    return path == ".worktree-provisioned" || path == ".cache" || path == ".vite" || path == ".vite-temp" ||
           path == ".vitest" || path == ".vitest-cache" || path == ".tmp" || path == ".bin/ws-tool";
  };
  EXPECT_THAT(differences(photograph(mini_project().first.plain + "/node_modules", skip),
                          photograph(one_ + "/node_modules", skip), Compare::content),
              IsEmpty());
}

TEST_F(RealNpm, NamesALockThatIsOutOfSyncWithNpmsCode) {
  std::string manifest = read_text(one_ + "/package.json");
  const auto place = manifest.find("\"dependencies\": {") + 17;
  write_text(one_ + "/package.json", manifest.insert(place, "\"another-x\": \"file:tgz/x-1.0.0.tgz\", "));
  const RunResult result = pfnm({"link"}, one_);
  EXPECT_EQ(result.rc, 1);
  EXPECT_THAT(result.err, HasSubstr("EUSAGE"));
}

TEST_F(RealNpm, RunsTheProjectsScriptsWhereAskedTo) {
  const std::string two = repo_.add_worktree("two");
  repo_.git(two, {"config", "--global", "pfnm.rootScripts", "run"});
  const RunResult result = pfnm({"link"}, two);
  if (runs_as_root()) {
    EXPECT_EQ(result.rc, 6);  // root could write into the shared install through the links
    EXPECT_FALSE(exists(two + "/root-script-ran"));
  } else {
    EXPECT_EQ(result.rc, 0) << result.all();
    EXPECT_TRUE(exists(two + "/root-script-ran"));
  }
}

}  // namespace
}  // namespace pfnm::test
