// `status`, `path`, `install ls|build|verify`: what they say, and that they say when something was tampered with.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/project_fixture.hpp"

namespace pfnm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Status : public ProjectTest {};

TEST_F(Status, SaysThatThereIsNothingYet) {
  Json json = pfnm_json({"status"}, one_);
  EXPECT_EQ(json["schema"], "pfnm.status/1");
  EXPECT_EQ(json["layout"], "none");
  EXPECT_EQ(json["action"], "linked");
  EXPECT_EQ(json["intact"], false);
}

TEST_F(Status, DescribesALinkedWorktree) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  Json json = pfnm_json({"status"}, one_);
  EXPECT_EQ(json["worktree"], one_);
  EXPECT_EQ(json["install"], install());
  EXPECT_EQ(json["layout"], "links");
  EXPECT_EQ(json["action"], "unchanged");
  EXPECT_EQ(json["intact"], true);
  EXPECT_GT(json["shared_bytes"].get<int>(), 0);
}

TEST_F(Status, ChangesNothing) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const Tree worktree = photograph(one_);
  const Tree store = photograph(scratch().store());
  ASSERT_EQ(pfnm({"status"}, one_).rc, 0);
  EXPECT_THAT(differences(worktree, photograph(one_)), IsEmpty());
  EXPECT_THAT(differences(store, photograph(scratch().store())), IsEmpty());
}

TEST_F(Status, MakesNoStore) {
  ASSERT_EQ(pfnm({"status"}, one_).rc, 0);
  EXPECT_FALSE(exists(scratch().store()));
}

TEST_F(Status, SeesThatALinkIsGone) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  ASSERT_EQ(::unlink((one_ + "/node_modules/plain-a").c_str()), 0);
  Json json = pfnm_json({"status"}, one_);
  EXPECT_EQ(json["intact"], false);
  EXPECT_EQ(json["action"], "relinked");
}

TEST_F(Status, SeesThatTheLockHasChanged) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  switch_to(mini_project().second, one_);
  Json json = pfnm_json({"status"}, one_);
  EXPECT_EQ(json["intact"], true);
  EXPECT_EQ(json["current"], false);
  EXPECT_EQ(json["action"], "relinked");
}

TEST_F(Status, SeesAnUnmarkedTree) {
  write_text(one_ + "/node_modules/theirs/index.js", "x");
  Json json = pfnm_json({"status"}, one_);
  EXPECT_EQ(json["layout"], "unmanaged");
  EXPECT_EQ(json["action"], "refused");
}

TEST_F(Status, SeesAPrivateCopy) {
  ASSERT_EQ(pfnm({"private"}, one_).rc, 0);
  EXPECT_EQ(pfnm_json({"status"}, one_)["layout"], "private");
}

TEST_F(Status, SeesThatTheInstallIsGone) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  delete_tree(scratch().store());
  Json json = pfnm_json({"status"}, one_);
  EXPECT_EQ(json["sealed"], false);
  EXPECT_EQ(json["intact"], false);
}

class Path : public ProjectTest {};

TEST_F(Path, NamesTheRealDirectoryOfAPackage) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(pfnm({"path", "plain-a"}, one_).out, install() + "/node_modules/plain-a\n");
  EXPECT_EQ(pfnm({"path", "@scope/one"}, one_).out, install() + "/node_modules/@scope/one\n");
  EXPECT_EQ(pfnm({"path", "ws-a"}, one_).out, one_ + "/packages/a\n");
}

TEST_F(Path, LooksFromTheGivenDirectoryUpwards) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(pfnm({"path", "x", "-C", one_ + "/packages/a"}, at("home")).out, install() + "/packages/a/node_modules/x\n");
}

TEST_F(Path, RefusesWhatIsNoPackageName) {
  EXPECT_EQ(pfnm({"path", "../../etc"}, one_).rc, 2);
}

class Install : public ProjectTest {
 protected:
  // Makes a path of the install writable, changes it, and takes the bits away again.
  void tamper(const std::string& path, const std::string& text) const {
    const std::string full = install() + "/" + path;
    const Tree tree = photograph(full);
    ASSERT_EQ(::chmod(full.c_str(), 0644), 0);
    write_text(full, text);
    ASSERT_EQ(::chmod(full.c_str(), tree.at("").mode), 0);
  }
  [[nodiscard]] std::string key() const { return install().substr(scratch().store().size() + 1); }
};

TEST_F(Install, BuildMakesTheInstallWithoutLinking) {
  Json json = pfnm_json({"install", "build"}, one_);
  EXPECT_EQ(json["action"], "built");
  EXPECT_FALSE(exists(one_ + "/node_modules"));
  EXPECT_EQ(pfnm_json({"link"}, one_)["action"], "linked");
  EXPECT_EQ(fake_.builds(), 1U);
}

TEST_F(Install, ListNamesTheWorktreesThatUseIt) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  Json json = pfnm_json({"install", "ls"}, one_);
  EXPECT_EQ(json["schema"], "pfnm.install-ls/1");
  ASSERT_EQ(json["installs"].size(), 1U);
  EXPECT_EQ(json["installs"][0]["key"], key());
  EXPECT_EQ(json["installs"][0]["path"], install());
  EXPECT_EQ(json["installs"][0]["references"], Json::array({one_}));
}

TEST_F(Install, ListForgetsAWorktreeThatIsGone) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  repo_.git(repo_.root(), {"worktree", "remove", "--force", one_});
  Json json = pfnm_json({"install", "ls"}, repo_.root());
  EXPECT_EQ(json["installs"][0]["references"], Json::array());
}

TEST_F(Install, ListWhySaysWhatWentIntoTheKey) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const RunResult result = pfnm({"install", "ls", "--why", key().substr(0, 12)}, one_);
  EXPECT_EQ(result.rc, 0) << result.all();
  EXPECT_THAT(result.out, HasSubstr("tgz/x-1.0.0.tgz"));
}

TEST_F(Install, VerifyIsSilentOnAWholeInstall) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const RunResult result = pfnm({"install", "verify", "--all"}, one_);
  EXPECT_EQ(result.rc, 0) << result.all();
  EXPECT_THAT(result.out, HasSubstr("whole"));
}

TEST_F(Install, VerifyNamesEveryPathThatWasTamperedWith) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  tamper("node_modules/plain-a/lib/deep/file.js", "exports.deep = fals;\n");
  ASSERT_EQ(::chmod((install() + "/node_modules/plain-b").c_str(), 0755), 0);
  write_text(install() + "/node_modules/plain-b/added.js", "new");
  ASSERT_EQ(::unlink((install() + "/node_modules/plain-b/index.js").c_str()), 0);
  Json json = Json::parse(pfnm({"install", "verify", key(), "--json"}, one_).out);
  const std::string text = json.dump();
  EXPECT_THAT(text, HasSubstr(R"({"damage":"changed","path":"node_modules/plain-a/lib/deep/file.js"})"));
  EXPECT_THAT(text, HasSubstr(R"({"damage":"extra","path":"node_modules/plain-b/added.js"})"));
  EXPECT_THAT(text, HasSubstr(R"({"damage":"missing","path":"node_modules/plain-b/index.js"})"));
  EXPECT_EQ(json["installs"][0]["damaged"].size(), 4U) << text;  // and the mode of plain-b
  EXPECT_EQ(pfnm({"install", "verify", key()}, one_).rc, 1);
}

TEST_F(Install, VerifyFindsAChangeThatKeepsSizeAndTime) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const std::string path = install() + "/node_modules/plain-b/index.js";
  struct stat st {};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  std::string text = read_text(path);
  text[0] = 'M';
  tamper("node_modules/plain-b/index.js", text);
  const timespec times[2] = {st.st_atim, st.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_THAT(pfnm({"install", "verify", key()}, one_).out, HasSubstr("changed node_modules/plain-b/index.js"));
}

TEST_F(Install, VerifyFindsAChangedManifestAndPlan) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  std::string manifest = read_text(install() + "/.pf/manifest");
  manifest.back() = static_cast<char>(manifest.back() ^ 1);
  tamper(".pf/manifest", manifest);
  EXPECT_THAT(pfnm({"install", "verify", key()}, one_).out, HasSubstr("changed .pf/manifest"));
}

TEST_F(Install, LinkRefusesAPlanThatWasChanged) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  std::string plan = read_text(install() + "/.pf/plan");
  plan.back() = static_cast<char>(plan.back() ^ 1);
  tamper(".pf/plan", plan);
  const std::string two = repo_.add_worktree("two");
  const RunResult result = pfnm({"link"}, two);
  EXPECT_EQ(result.rc, 1) << result.all();
  EXPECT_THAT(result.err, HasSubstr("plan"));
  EXPECT_FALSE(exists(two + "/node_modules"));
}

TEST_F(Install, LinkSaysWhenATopLevelEntryWasTamperedWith) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  ASSERT_EQ(::chmod((install() + "/node_modules/plain-a").c_str(), 0755), 0);
  write_text(install() + "/node_modules/plain-a/added.js", "new");
  ASSERT_EQ(::chmod((install() + "/node_modules/plain-a").c_str(), 0555), 0);
  Json json = pfnm_json({"link"}, one_);
  EXPECT_EQ(json["tampered"][0]["path"], "node_modules/plain-a") << json.dump();
  EXPECT_THAT(pfnm({"link"}, one_).err, HasSubstr("tampered"));
}

TEST_F(Install, LinkFindsAnyTamperedEntryOfASmallInstall) {
  // Fewer than 256 entries: the rotation reaches every one of them in each link.
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  tamper("node_modules/plain-a/lib/deep/file.js", "exports.deep = 'other';\n");
  Json json = pfnm_json({"link"}, one_);
  EXPECT_EQ(json["tampered"].size(), 1U) << json.dump();
}

class Settings : public ProjectTest {};

TEST_F(Settings, WritableAddsRealDirectories) {
  repo_.git(repo_.root(), {"config", "--add", "pfnm.writable", ".my-cache"});
  repo_.git(repo_.root(), {"config", "--add", "pfnm.writable", "deep/er"});
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  for (const char* name : {"/node_modules/.my-cache", "/node_modules/deep/er"}) {
    EXPECT_EQ(photograph(one_ + name).at("").type, 'd') << name;
    write_text(one_ + name + "/entry", "kept");
  }
  EXPECT_EQ(pfnm_json({"link"}, one_)["moved_aside"], Json::array());
  switch_to(mini_project().second, one_);
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_EQ(read_text(one_ + "/node_modules/.my-cache/entry"), "kept");
  EXPECT_EQ(read_text(one_ + "/node_modules/deep/er/entry"), "kept");
}

TEST_F(Settings, ACommittedFileMaySetWritableAndLayout) {
  write_text(one_ + "/.pfnmconfig", "[pfnm]\n\twritable = .committed\n\tlayout = private\n");
  EXPECT_EQ(pfnm_json({"link"}, one_)["layout"], "private");
}

TEST_F(Settings, ACommittedFileMaySetNothingElse) {
  write_text(one_ + "/.pfnmconfig", "[pfnm]\n\trootScripts = run\n\tmaxBuilds = nonsense\n\twriteBack = wait\n");
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_FALSE(exists(one_ + "/root-script-ran"));
}

TEST_F(Settings, TheUsersOwnConfigurationWinsOverACommittedFile) {
  write_text(one_ + "/.pfnmconfig", "[pfnm]\n\tlayout = private\n");
  repo_.git(one_, {"config", "--global", "pfnm.layout", "links"});
  EXPECT_EQ(pfnm_json({"link"}, one_)["layout"], "links");
}

TEST_F(Settings, AChangedSettingIsNoticedByALinkedWorktree) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  repo_.git(one_, {"config", "--global", "pfnm.writable", ".late"});
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_TRUE(exists(one_ + "/node_modules/.late"));
}

TEST_F(Settings, AChangedCommittedFileIsNoticedByALinkedWorktree) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(one_ + "/.pfnmconfig", "[pfnm]\n\twritable = .late\n");
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  EXPECT_TRUE(exists(one_ + "/node_modules/.late"));
}

TEST_F(Settings, ModeOffDoesNothing) {
  const Tree before = photograph(one_);
  const RunResult result = pfnm({"link"}, one_, {"PF_NM_MODE=off"});
  EXPECT_EQ(result.rc, 0) << result.all();
  EXPECT_THAT(differences(before, photograph(one_)), IsEmpty());
}

TEST_F(Settings, ModeLinksWinsOverTheConfiguredLayout) {
  repo_.git(one_, {"config", "--global", "pfnm.layout", "private"});
  EXPECT_EQ(pfnm_json({"link"}, one_, {"PF_NM_MODE=links"})["layout"], "links");
}

TEST_F(Settings, TheCommandLineWinsOverTheMode) {
  EXPECT_EQ(pfnm_json({"link", "--layout", "links"}, one_, {"PF_NM_MODE=private"})["layout"], "links");
}

TEST_F(Settings, AnUnknownModeIsAUsageError) { EXPECT_EQ(pfnm({"link"}, one_, {"PF_NM_MODE=sideways"}).rc, 2); }

TEST_F(Settings, TheStoreIsBelowHomeWhereNothingElseIsSaid) {
  ASSERT_EQ(pfnm({"link"}, one_, {"PFNM_STORE"}).rc, 0);
  EXPECT_TRUE(exists(scratch().home() + "/.cache/pf-node-modules/.pf/format"));
  EXPECT_EQ(photograph(scratch().home() + "/.cache/pf-node-modules").at("").mode, 0700U);
}

TEST_F(Settings, DoctorListsEverySettingWithItsOrigin) {
  repo_.git(one_, {"config", "--global", "pfnm.maxBuilds", "7"});
  const RunResult result = pfnm({"doctor", "--config"}, one_);
  EXPECT_EQ(result.rc, 0) << result.all();
  EXPECT_THAT(result.out, HasSubstr("pfnm.maxBuilds"));
  EXPECT_THAT(result.out, HasSubstr(scratch().home() + "/.gitconfig"));
}

TEST_F(Settings, AnotherToolchainIsAnotherQuestionButNotAnotherTree) {
  // The lock has an install script, so node's ABI is part of the key.
  Json before = pfnm_json({"link"}, one_);
  write_text(fake_.bin() + "/node",
             "#!/bin/sh\n[ \"$1\" = -e ] || exit 99\nprintf '22.0.0\\n127\\nlinux\\nx64\\n2.36\\n%s\\n' \"$0\"\n", 0755);
  Json after = pfnm_json({"link"}, one_);
  EXPECT_EQ(after["action"], "relinked");
  EXPECT_NE(after["key"], before["key"]);
  EXPECT_THAT(after["key"].get<std::string>(), HasSubstr("abi127"));
  EXPECT_EQ(fake_.builds(), 2U);
}

TEST_F(Settings, APatchReleaseOfNodeWithTheSameAbiKeepsTheInstall) {
  Json before = pfnm_json({"link"}, one_);
  write_text(fake_.bin() + "/node",
             "#!/bin/sh\n[ \"$1\" = -e ] || exit 99\nprintf '20.0.1\\n115\\nlinux\\nx64\\n2.36\\n%s\\n' \"$0\"\n", 0755);
  Json after = pfnm_json({"link"}, one_);
  EXPECT_EQ(after["action"], "unchanged");
  EXPECT_EQ(after["key"], before["key"]);
}

class Hook : public ProjectTest {};

TEST_F(Hook, DoesNothingWhereNothingIsToDo) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  const Tree before = photograph(one_);
  const RunResult result = pfnm({"hook", "post-checkout", "a", "b", "1"}, one_);
  EXPECT_EQ(result.rc, 0);
  EXPECT_EQ(result.all(), "");
  EXPECT_THAT(differences(before, photograph(one_)), IsEmpty());
}

TEST_F(Hook, RelinksToAnInstallThatIsThere) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  switch_to(mini_project().second, one_);
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  switch_to(mini_project().first, one_);
  EXPECT_EQ(pfnm({"hook", "post-checkout", "a", "b", "1"}, one_).rc, 0);
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(Hook, BuildsNothingAndSaysSo) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  switch_to(mini_project().second, one_);
  const RunResult result = pfnm({"hook", "post-checkout", "a", "b", "1"}, one_);
  EXPECT_EQ(result.rc, 0);
  EXPECT_THAT(result.err, HasSubstr("pfnm link"));
  EXPECT_EQ(fake_.builds(), 1U);
}

TEST_F(Hook, NeverFailsGitsCommand) {
  write_text(one_ + "/package-lock.json", "{");
  EXPECT_EQ(pfnm({"hook", "post-checkout", "a", "b", "1"}, one_).rc, 0);
  EXPECT_EQ(pfnm({"hook", "post-checkout", "a", "b", "1"}, at("home")).rc, 0);
  EXPECT_EQ(pfnm({"hook", "post-merge", "0"}, one_).rc, 0);
}

TEST_F(Hook, LeavesAnUnmarkedTreeAlone) {
  write_text(one_ + "/node_modules/theirs/index.js", "x");
  const Tree before = photograph(one_);
  EXPECT_EQ(pfnm({"hook", "post-checkout", "a", "b", "1"}, one_).rc, 0);
  EXPECT_THAT(differences(before, photograph(one_)), IsEmpty());
}

}  // namespace
}  // namespace pfnm::test
