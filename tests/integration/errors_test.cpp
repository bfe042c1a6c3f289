// Errors (SPEC 1.5, 2.8): each says what failed, on which path and why, has the exit code of SPEC 1.3, and changes
// nothing.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/support/project_fixture.hpp"

namespace pfnm::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Errors : public ProjectTest {
 protected:
  // Runs `link` in `one`; it must end with `rc`, change nothing in the worktree and publish nothing in the store.
  RunResult refused(int rc, const std::vector<std::string>& arguments = {"link"},
                    const std::vector<std::string>& environment = {}) {
    const Tree before = photograph(one_);
    const auto published = names_in(scratch().store() + "/.pf/seals");
    RunResult result = pfnm(arguments, one_, environment);
    EXPECT_EQ(result.rc, rc) << result.all();
    EXPECT_THAT(differences(before, photograph(one_)), IsEmpty());
    EXPECT_EQ(names_in(scratch().store() + "/.pf/seals"), published);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, ::testing::StartsWith("pfnm: cannot "));
    return result;
  }

  void replace_in_lock(const std::string& from, const std::string& to) {
    std::string lock = read_text(one_ + "/package-lock.json");
    const auto at = lock.find(from);
    ASSERT_NE(at, std::string::npos);
    write_text(one_ + "/package-lock.json", lock.replace(at, from.size(), to));
  }
};

TEST_F(Errors, ANewStoreIsNotEvenMadeForABadLock) {
  write_text(one_ + "/package-lock.json", "{");
  refused(1);
  EXPECT_THAT(installs(), IsEmpty());
}

TEST_F(Errors, AMissingLockIsNamed) {
  delete_tree(one_ + "/package-lock.json");
  EXPECT_THAT(refused(1).err, AllOf(HasSubstr("package-lock.json"), HasSubstr(one_)));
}

TEST_F(Errors, AMalformedLockIsNamed) {
  write_text(one_ + "/package-lock.json", R"({"lockfileVersion": 3, "packages": )");
  EXPECT_THAT(refused(1).err, HasSubstr(one_ + "/package-lock.json"));
}

TEST_F(Errors, ALockThatIsADirectoryIsNamed) {
  delete_tree(one_ + "/package-lock.json");
  make_dirs(one_ + "/package-lock.json");
  EXPECT_THAT(refused(1).err, HasSubstr("package-lock.json"));
}

TEST_F(Errors, ConflictMarkersAreCalledSo) {
  replace_in_lock("\"packages\"", "\n<<<<<<< HEAD\n\"packages\"");
  EXPECT_THAT(refused(1).err, AllOf(HasSubstr(one_ + "/package-lock.json"), HasSubstr("conflict markers")));
}

TEST_F(Errors, AKeyThatLeavesTheProjectIsNamed) {
  replace_in_lock("\"packages/a\": {", "\"../outside\": {");
  EXPECT_THAT(refused(1).err, AllOf(HasSubstr("../outside"), HasSubstr("leaves the project")));
}

TEST_F(Errors, AnAbsoluteKeyIsNamed) {
  replace_in_lock("\"packages/a\": {", "\"/etc/outside\": {");
  EXPECT_THAT(refused(1).err, HasSubstr("/etc/outside"));
}

TEST_F(Errors, AMissingPackageJsonIsNamed) {
  delete_tree(one_ + "/package.json");
  EXPECT_THAT(refused(1).err, HasSubstr(one_ + "/package.json"));
}

TEST_F(Errors, AMissingTarballIsNamed) {
  delete_tree(one_ + "/tgz/x-1.0.0.tgz");
  EXPECT_THAT(refused(1).err, HasSubstr("tgz/x-1.0.0.tgz"));
}

TEST_F(Errors, ANpmrcThatNamesAProgramIsRefusedWithItsLine) {
  write_text(one_ + "/.npmrc", "fund=false\nscript-shell=/tmp/evil\n");
  EXPECT_THAT(refused(1).err, AllOf(HasSubstr("line 2"), HasSubstr("script-shell")));
}

TEST_F(Errors, NpmsOwnCodeAndTheLogAreNamedWhenTheBuildFails) {
  fake_.fail_with("npm error code EUSAGE\nnpm error\nnpm error `npm ci` can only install with a lock in sync\n");
  const RunResult result = refused(1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("EUSAGE"), HasSubstr("can only install"), HasSubstr("npm install"), HasSubstr(".log")));
  EXPECT_THAT(installs(), IsEmpty());
}

TEST_F(Errors, APeerConflictSaysWhatUsuallyHelps) {
  fake_.fail_with("npm error code ERESOLVE\nnpm error could not resolve\n");
  EXPECT_THAT(refused(1).err, AllOf(HasSubstr("ERESOLVE"), HasSubstr("legacy-peer-deps")));
}

TEST_F(Errors, AFailedInstallScriptIsABuildThatFailed) {
  fake_.fail_with("npm error code 7\nnpm error path node_modules/with-script\nnpm error command failed\n");
  EXPECT_THAT(refused(1).err, AllOf(HasSubstr("exited with 1"), HasSubstr("(7)")));
}

TEST_F(Errors, AFailedBuildIsDoneAgainByTheNextLink) {
  fake_.fail_with("npm error code EUSAGE\n");
  refused(1);
  fake_.fail_with("");
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

// A PATH with git and a shell's tools but not with what `hidden` names.
std::string path_without(const std::string& directory, const std::vector<std::string>& wanted) {
  make_dirs(directory);
  for (const std::string& program : wanted) {
    for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {
      if (!exists(folder + program)) continue;
      std::ignore = ::symlink((folder + program).c_str(), (directory + "/" + program).c_str());
      break;
    }
  }
  return "PATH=" + directory;
}

TEST_F(Errors, AMissingNpmIsNamed) {
  const std::string path = path_without(at("bin"), {"git", "node"});
  EXPECT_THAT(refused(1, {"link"}, {path}).err, AllOf(HasSubstr("npm"), HasSubstr("not on PATH")));
}

TEST_F(Errors, AMissingNodeIsNamed) {
  const std::string path = path_without(at("bin"), {"git", "npm"});
  EXPECT_THAT(refused(1, {"link"}, {path}).err, AllOf(HasSubstr("node"), HasSubstr("not on PATH")));
}

TEST_F(Errors, AMissingGitIsNamed) {
  const std::string path = path_without(at("bin"), {"node", "npm"});
  EXPECT_THAT(refused(1, {"link"}, {path}).err, AllOf(HasSubstr("git"), HasSubstr("not on PATH")));
}

TEST_F(Errors, ANodeThatFailsIsNamed) {
  write_text(fake_.bin() + "/node", "#!/bin/sh\necho broken >&2\nexit 3\n", 0755);
  EXPECT_THAT(refused(1).err, AllOf(HasSubstr(fake_.bin() + "/node"), HasSubstr("exited with 3"), HasSubstr("broken")));
}

TEST_F(Errors, AStoreThatCannotBeWrittenIsNamed) {
  if (runs_as_root()) GTEST_SKIP() << "mode bits do not stop root";
  make_dirs(at("closed"));
  ASSERT_EQ(::chmod(at("closed").c_str(), 0555), 0);
  EXPECT_THAT(refused(1, {"link"}, {"PFNM_STORE=" + at("closed/store")}).err,
              AllOf(HasSubstr(at("closed/store")), HasSubstr("Permission denied")));
}

TEST_F(Errors, AStoreThatLostItsWriteBitIsNamed) {
  if (runs_as_root()) GTEST_SKIP() << "mode bits do not stop root";
  ASSERT_EQ(pfnm({"install", "ls"}, one_).rc, 0);
  make_dirs(scratch().store());
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const std::string two = repo_.add_worktree("two");
  switch_to(mini_project().second, two);
  ASSERT_EQ(::chmod(scratch().store().c_str(), 0500), 0);
  const Tree before = photograph(two);
  const RunResult result = pfnm({"link"}, two);
  ASSERT_EQ(::chmod(scratch().store().c_str(), 0700), 0);
  EXPECT_EQ(result.rc, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr(scratch().store()), HasSubstr("Permission denied")));
  EXPECT_THAT(differences(before, photograph(two)), IsEmpty());
}

TEST_F(Errors, AStoreOfAnotherUserIsRefused) {
  // Root makes one for somebody else; anybody else finds root's.
  std::string theirs = "/usr";
  if (runs_as_root()) {
    theirs = at("theirs");
    make_dirs(theirs);
    ASSERT_EQ(::chown(theirs.c_str(), 12345, 12345), 0);
  }
  EXPECT_THAT(refused(6, {"link"}, {"PFNM_STORE=" + theirs}).err, AllOf(HasSubstr(theirs), HasSubstr("another user")));
}

TEST_F(Errors, AHomeDirectoryGivenAsTheStoreIsRefusedUntouched) {
  write_text(at("someones/letter.txt"), "dear");
  const Tree before = photograph(at("someones"));
  EXPECT_THAT(refused(6, {"link"}, {"PFNM_STORE=" + at("someones")}).err, HasSubstr("letter.txt"));
  EXPECT_THAT(differences(before, photograph(at("someones"))), IsEmpty());
}

TEST_F(Errors, AFileGivenAsTheStoreIsAnError) {
  write_text(at("file"), "not a store");
  EXPECT_THAT(refused(1, {"link"}, {"PFNM_STORE=" + at("file")}).err, HasSubstr(at("file")));
}

TEST_F(Errors, AStoreOfAnotherVersionIsRefused) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(scratch().store() + "/.pf/format", "pfnm-store 99\nend\n", 0600);
  EXPECT_THAT(refused(1).err, HasSubstr("another version"));
}

TEST_F(Errors, AForeignInstallWithTheSameNameIsNamedAndLeftAlone) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const std::string name = install().substr(scratch().store().size() + 1);
  delete_tree(one_ + "/node_modules");
  delete_tree(one_ + "/packages/a/node_modules");
  delete_tree(scratch().store());
  write_text(scratch().store() + "/" + name + "/node_modules/y/index.js", "an older helper's");
  ASSERT_EQ(::chmod(scratch().store().c_str(), 0700), 0);
  const Tree before = photograph(install());
  EXPECT_THAT(refused(1).err, AllOf(HasSubstr(name), HasSubstr("pfnm did not make")));
  EXPECT_THAT(differences(before, photograph(install())), IsEmpty());
}

TEST_F(Errors, ForeignThingsInTheStoreAreListedAndLeftAlone) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(scratch().store() + "/notes.txt", "not ours");
  const Json json = pfnm_json({"install", "ls"}, one_);
  EXPECT_EQ(json["foreign"], Json::array({"notes.txt"}));
  EXPECT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(read_text(scratch().store() + "/notes.txt"), "not ours");
}

TEST_F(Errors, AnUnmarkedNodeModulesIsRefusedWithTheWayOut) {
  write_text(one_ + "/node_modules/theirs/index.js", "by npm");
  EXPECT_THAT(refused(6).err, AllOf(HasSubstr(one_), HasSubstr("--force")));
  EXPECT_EQ(fake_.builds(), 0U);
}

TEST_F(Errors, AnUnmarkedNodeModulesStopsPrivateToo) {
  write_text(one_ + "/node_modules/theirs/index.js", "by npm");
  EXPECT_THAT(refused(6, {"private"}).err, HasSubstr(one_));
}

TEST_F(Errors, ANodeModulesThatIsALinkIsRefused) {
  make_dirs(at("elsewhere"));
  ASSERT_EQ(::symlink(at("elsewhere").c_str(), (one_ + "/node_modules").c_str()), 0);
  refused(6);
}

TEST_F(Errors, OutsideAGitRepositoryNothingIsDone) {
  copy_tree(mini_project().first.source, at("plain"));
  const Tree before = photograph(at("plain"));
  const RunResult result = pfnm({"link"}, at("plain"), {"GIT_CEILING_DIRECTORIES=" + scratch().root()});
  EXPECT_EQ(result.rc, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr(at("plain")), HasSubstr("not a git repository")));
  EXPECT_THAT(differences(before, photograph(at("plain"))), IsEmpty());
  EXPECT_FALSE(exists(scratch().store()));
}

TEST_F(Errors, AWorktreeWhoseGitFileLeadsNowhereIsNamed) {
  write_text(one_ + "/.git", "gitdir: " + at("gone") + "\n");
  EXPECT_THAT(refused(1).err, AllOf(HasSubstr(one_), HasSubstr("git worktree repair")));
}

TEST_F(Errors, ADirectoryThatIsNotThereIsNamed) {
  EXPECT_THAT(refused(1, {"link", at("nowhere")}).err, HasSubstr(at("nowhere")));
}

TEST_F(Errors, AnUnknownOptionIsAUsageError) { EXPECT_EQ(pfnm({"link", "--what"}, one_).rc, 2); }
TEST_F(Errors, AnUnknownVerbIsAUsageError) { EXPECT_EQ(pfnm({"nonsense"}, one_).rc, 2); }
TEST_F(Errors, NoVerbIsAUsageError) { EXPECT_EQ(pfnm({}, one_).rc, 2); }

TEST_F(Errors, AnUnknownLayoutIsAUsageError) {
  EXPECT_THAT(refused(2, {"link", "--layout", "sideways"}).err, HasSubstr("sideways"));
}

TEST_F(Errors, AnUnknownPackageIsNamed) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_THAT(refused(1, {"path", "no-such-package"}).err, HasSubstr("no-such-package"));
}

TEST_F(Errors, AnUnknownKeyIsNamed) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_THAT(refused(1, {"install", "verify", "ffff"}).err, HasSubstr("ffff"));
}

TEST_F(Errors, VerifyWithoutAKeyIsAUsageError) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  refused(2, {"install", "verify"});
}

TEST_F(Errors, ABadSettingIsNamedWithItsFile) {
  repo_.git(repo_.root(), {"config", "pfnm.maxBuilds", "many"});
  EXPECT_THAT(refused(1).err, AllOf(HasSubstr("pfnm.maxbuilds"), HasSubstr("many"), HasSubstr("config")));
}

TEST_F(Errors, AWritableDirectoryOutsideNodeModulesIsRefused) {
  repo_.git(repo_.root(), {"config", "pfnm.writable", "../escape"});
  EXPECT_THAT(refused(1).err, HasSubstr("../escape"));
}

TEST_F(Errors, StdoutThatCannotBeWrittenIsAnError) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const RunSpec quiet = spec({"status", "--json"}, one_);
  const RunResult result = run({{"/bin/sh", "-c", "exec \"$0\" status --json > /dev/full", quiet.argv[0]}, quiet.environment, one_});
  EXPECT_EQ(result.rc, 1);
}

TEST_F(Errors, AnErrorHasOneOrTwoLines) {
  write_text(one_ + "/package-lock.json", "{");
  const std::string text = refused(1).err;
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(text, Not(HasSubstr("\n\n")));
}

}  // namespace
}  // namespace pfnm::test
