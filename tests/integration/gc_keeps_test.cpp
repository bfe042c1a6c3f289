// What must never be reclaimed: one test for each way in which an install can be in use or in doubt. The clock is two
// days ahead, so that nothing is kept for being young; each test shows the one reason that keeps it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "nmstore/platform/fd.hpp"
#include "nmstore/store/reference.hpp"
#include "tests/support/gc_driver.hpp"

namespace pfnm::test {
namespace {

using ::testing::HasSubstr;

void replace_in(const std::string& path, const std::string& from, const std::string& to) {
  std::string text = read_text(path);
  const auto at = text.find(from);
  ASSERT_NE(at, std::string::npos) << path << ": " << text;
  write_text(path, text.replace(at, from.size(), to), 0600);
}

void set_time(const std::string& path, std::int64_t seconds) {
  const std::array<timespec, 2> times{{{seconds, 0}, {seconds, 0}}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0) << path;
}

// A process that holds something until the test ends.
class Holder {
 public:
  explicit Holder(const std::function<bool()>& take) {
    std::array<int, 2> ready{};
    if (::pipe2(ready.data(), O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::alarm(120);
      const char answer = take() ? 'y' : 'n';
      std::ignore = ::write(ready[1], &answer, 1);
      while (true) ::pause();
    }
    ::close(ready[1]);
    char answer = 'n';
    took_ = ::read(ready[0], &answer, 1) == 0 || answer == 'y';  // nothing: it became another program
    ::close(ready[0]);
  }
  ~Holder() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  [[nodiscard]] bool took() const { return took_; }
  [[nodiscard]] std::string name() const { return "process " + std::to_string(pid_); }

 private:
  pid_t pid_ = -1;
  bool took_ = false;
};

class GcKeeps : public GcTest {
 protected:
  void SetUp() override {
    build_unused_install();
    key_ = second_install();
    install_ = store().paths.install(key_);
  }
  void TearDown() override {
    for (const std::string& closed : closed_) ::chmod(closed.c_str(), 0755);
  }

  void close_off(const std::string& directory) {
    closed_.push_back(directory);
    ASSERT_EQ(::chmod(directory.c_str(), 0), 0);
  }
  // A worktree like any other, then gone with all that was written about it.
  void remove_all_about_two() {
    repo_.git(repo_.root(), {"worktree", "remove", "--force", two_});
    ASSERT_EQ(::unlink(record_of_two().c_str()), 0);
  }
  [[nodiscard]] std::string record_of_two() const {
    for (const std::string& name : names_in(store().paths.references()))
      if (read_text(store().paths.reference(name)).find("project " + two_ + "\n") != std::string::npos)
        return store().paths.reference(name);
    return {};
  }

  [[nodiscard]] static Json reasons_in(const Json& answer, const InstallName& name) {
    for (const Json& install : answer.value("installs", Json::array()))
      if (install["key"] == name.text) return install["reasons"];
    return Json::array();
  }
  void expect_untouched(const Ended& ended) const {
    EXPECT_EQ(ended.json().value("reclaimed", 99), 0) << ended.out;
    EXPECT_TRUE(exists(store().paths.seal(key_))) << ended.out;
    EXPECT_TRUE(exists(install_)) << ended.out;
    EXPECT_EQ(trash().items.size(), 0U);
    expect_sound("kept");
  }
  // For this reason, and for no other.
  void expect_kept_for(const std::string& reason, const GcDrive& drive = {}) const {
    const Ended ended = gc(drive);
    EXPECT_EQ(ended.rc, 0) << ended.out << ended.err;
    const Json reasons = reasons_in(ended.json(), key_);
    ASSERT_EQ(reasons.size(), 1U) << ended.out;
    EXPECT_THAT(reasons[0].get<std::string>(), HasSubstr(reason));
    expect_untouched(ended);
  }
  void expect_blind_about(const std::string& what, const std::string& path) const {
    const Ended ended = gc();
    EXPECT_EQ(ended.rc, 3) << ended.out << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("BLIND cannot read " + what + " " + path));
    EXPECT_EQ(ended.json().value("stopped", ""), "blind");
    expect_untouched(ended);
  }
  void expect_reclaimed() const {
    const Ended ended = gc();
    EXPECT_EQ(ended.rc, 0) << ended.out << ended.err;
    EXPECT_EQ(ended.json().value("reclaimed", 0), 1) << ended.out;
    EXPECT_FALSE(exists(store().paths.seal(key_)));
  }

  InstallName key_;
  std::string install_;

 private:
  std::vector<std::string> closed_;
};

TEST_F(GcKeeps, WhatALiveWorktreeUses) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  expect_kept_for("referenced: " + two_);
}

TEST_F(GcKeeps, WhatALiveWorktreeUsesWithoutARecord) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  ASSERT_EQ(::unlink(record_of_two().c_str()), 0);
  expect_kept_for("referenced: " + two_);
}

// Known by git alone: it lies under no root.
TEST_F(GcKeeps, WhatAWorktreeElsewhereUsesWithoutARecord) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  make_dirs(at("far/away/from/all"));
  repo_.git(repo_.root(), {"worktree", "move", two_, at("far/away/from/all/two")});
  ASSERT_EQ(::unlink(record_of_two().c_str()), 0);
  expect_kept_for("referenced: " + at("far/away/from/all/two"));
}

TEST_F(GcKeeps, WhatACopyOfAWorktreeUses) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  copy_tree(two_, at("trees/copy"));
  remove_all_about_two();
  expect_kept_for("referenced: " + at("trees/copy"));
}

TEST_F(GcKeeps, WhatACopyTwoLevelsBelowARootUses) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  make_dirs(at("trees/old"));
  copy_tree(two_, at("trees/old/copy"));
  remove_all_about_two();
  expect_kept_for("referenced: " + at("trees/old/copy"));
}

TEST_F(GcKeeps, WhatADirectoryWithTheMarkerNames) {
  make_dirs(at("trees/box/.pf"));
  ASSERT_EQ(::symlink(".pf/shared", at("trees/box/.pf-shared").c_str()), 0);
  ASSERT_EQ(::symlink(install_.c_str(), at("trees/box/.pf/shared").c_str()), 0);
  expect_kept_for("referenced: " + at("trees/box"));
}

TEST_F(GcKeeps, WhatTheMarkerOfAnUnfinishedLayoutNames) {
  make_dirs(at("trees/box/node_modules/.pf"));
  ASSERT_EQ(::symlink(install_.c_str(), at("trees/box/node_modules/.pf/shared").c_str()), 0);
  expect_kept_for("referenced: " + at("trees/box"));
}

TEST_F(GcKeeps, WhatAnOlderHelpersPlainFileNames) {
  write_text(at("trees/old/node_modules/.pf-shared"), key_.text.substr(0, 64) + "\n");
  expect_kept_for("referenced: " + at("trees/old"));
}

TEST_F(GcKeeps, WhatAnOlderHelpersLinkLeadsTo) {
  make_dirs(at("trees/old/node_modules"));
  ASSERT_EQ(::symlink(install_.c_str(), at("trees/old/node_modules/.pf-shared").c_str()), 0);
  expect_kept_for("referenced: " + at("trees/old"));
}

TEST_F(GcKeeps, WhatAWorktreeOnAnUnmountedVolumeUses) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  const auto reference = find_reference(store(), two_);
  ASSERT_TRUE(reference.has_value() && *reference);
  replace_in(record_of_two(), "identity " + (*reference)->identity.volume, "identity another-volume");
  repo_.git(repo_.root(), {"worktree", "remove", "--force", two_});
  expect_kept_for("a reference cannot be read: " + two_);
}

TEST_F(GcKeeps, WhatAWorktreeUsesWhoseMountPointIsAnEmptyDirectoryNow) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  const auto reference = find_reference(store(), two_);
  ASSERT_TRUE(reference.has_value() && *reference);
  replace_in(record_of_two(), "identity " + (*reference)->identity.volume, "identity another-volume");
  repo_.git(repo_.root(), {"worktree", "remove", "--force", two_});
  make_dirs(two_);
  expect_kept_for("a reference cannot be read: " + two_);
}

TEST_F(GcKeeps, WhatAWorktreeThatCannotBeReadUses) {
  if (runs_as_root()) GTEST_SKIP() << "root reads everything";
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  close_off(two_);
  expect_blind_about("the marker in", two_);
}

TEST_F(GcKeeps, WhatAReferenceRecordMayNameThatIsDamaged) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  write_text(record_of_two(), "pfnm-reference 1\nproject ", 0600);
  expect_blind_about("the references of", scratch().store());
}

TEST_F(GcKeeps, WhatAProcessWorksIn) {
  {
    const Holder holder([&] { return ::chdir((install_ + "/node_modules").c_str()) == 0; });
    ASSERT_TRUE(holder.took());
    expect_kept_for("in use: " + holder.name() + " works in it");
  }
  expect_reclaimed();
}

TEST_F(GcKeeps, WhatAProcessHasOpen) {
  {
    const Holder holder([&] {
      return ::open((install_ + "/package.json").c_str(), O_RDONLY | O_CLOEXEC) >= 0 ||
             ::open(manifest_file(install_).c_str(), O_RDONLY | O_CLOEXEC) >= 0;
    });
    ASSERT_TRUE(holder.took());
    expect_kept_for("in use: " + holder.name() + " has a file of it open");
  }
  expect_reclaimed();
}

TEST_F(GcKeeps, WhatAProcessHasMapped) {
  {
    const Holder holder([&] {
      const Fd file(::open(manifest_file(install_).c_str(), O_RDONLY | O_CLOEXEC));
      return file && ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file.get(), 0) != MAP_FAILED;
    });
    ASSERT_TRUE(holder.took());
    expect_kept_for("in use: " + holder.name() + " has a file of it mapped");
  }
  expect_reclaimed();
}

TEST_F(GcKeeps, WhatAProcessRuns) {
  const std::string program = install_ + "/node_modules/plain-b/program";
  const std::string directory = install_ + "/node_modules/plain-b";
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  copy_tree("/bin/sleep", program);
  {
    const Holder holder([&] { return ::execl(program.c_str(), program.c_str(), "100", nullptr) == 0; });
    ASSERT_TRUE(holder.took());
    const Ended ended = gc();
    EXPECT_EQ(ended.rc, 0) << ended.err;
    EXPECT_THAT(reasons_in(ended.json(), key_).dump(), HasSubstr(holder.name() + " runs a program of it"));
    EXPECT_TRUE(exists(store().paths.seal(key_)));
    EXPECT_EQ(trash().items.size(), 0U);
  }
  expect_reclaimed();
}

TEST_F(GcKeeps, WhatAThreadAloneWorksIn) {
  {
    const Holder holder([&] {
      std::promise<bool> there;
      std::thread([&] {
        there.set_value(::unshare(CLONE_FS) == 0 && ::chdir(install_.c_str()) == 0);
        while (true) ::pause();
      }).detach();
      return there.get_future().get();
    });
    ASSERT_TRUE(holder.took());
    expect_kept_for("in use: " + holder.name() + " works in it");
  }
  expect_reclaimed();
}

TEST_F(GcKeeps, WhatHasSomethingMountedInIt) {
  const std::string place = install_ + "/node_modules";
  make_dirs(at("elsewhere"));
  if (::mount(at("elsewhere").c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0) GTEST_SKIP() << "may not mount";
  const Ended ended = gc();
  EXPECT_EQ(::umount2(place.c_str(), MNT_DETACH), 0);
  EXPECT_EQ(ended.rc, 0) << ended.err;
  EXPECT_THAT(reasons_in(ended.json(), key_).dump(), HasSubstr("something is mounted in it: " + place));
  expect_untouched(ended);
  expect_reclaimed();
}

TEST_F(GcKeeps, WhatIsLeased) {
  {
    const auto lease = take_lease(Fs(), store(), key_);
    ASSERT_TRUE(lease.has_value());
    expect_kept_for("leased");
  }
  expect_reclaimed();
}

TEST_F(GcKeeps, WhatIsBeingBuilt) {
  {
    const auto lock = FileLock::acquire(Fs(), store().paths.build_lock(key_), LockMode::exclusive);
    ASSERT_TRUE(lock.has_value());
    expect_kept_for("being built");
  }
  expect_reclaimed();
}

// origin's default branch has the second version; the clone has checked out the first.
TEST_F(GcKeeps, WhatTheDefaultBranchOfARemoteNeeds) {
  repo_.git(repo_.root(), {"clone", "-q", "--bare", repo_.root(), at("upstream.git")});
  repo_.commit_all(two_);
  repo_.git(two_, {"push", "-q", at("upstream.git"), "two:main"});
  make_dirs(at("clones"));
  repo_.git(repo_.root(), {"clone", "-q", at("upstream.git"), at("clones/clone")});
  repo_.git(at("clones/clone"), {"checkout", "-q", "--detach", "HEAD~1"});
  repo_.git(at("clones/clone"), {"branch", "-q", "-D", "main"});
  ASSERT_EQ(pfnm({"link"}, at("clones/clone")).rc, 0);
  expect_kept_for("on the default branch: " + at("clones/clone/.git"));
}

// Nothing is known of origin/HEAD: the remote is asked.
TEST_F(GcKeeps, WhatTheRemoteSaysThatItsDefaultBranchNeeds) {
  repo_.git(repo_.root(), {"clone", "-q", "--bare", repo_.root(), at("upstream.git")});
  repo_.commit_all(two_);
  repo_.git(two_, {"push", "-q", at("upstream.git"), "two:main"});
  make_dirs(at("clones"));
  repo_.git(repo_.root(), {"clone", "-q", at("upstream.git"), at("clones/clone")});
  repo_.git(at("clones/clone"), {"checkout", "-q", "--detach", "HEAD~1"});
  repo_.git(at("clones/clone"), {"branch", "-q", "-D", "main"});
  repo_.git(at("clones/clone"), {"remote", "set-head", "origin", "--delete"});
  ASSERT_EQ(pfnm({"link"}, at("clones/clone")).rc, 0);
  expect_kept_for("on the default branch: " + at("clones/clone/.git"));
}

TEST_F(GcKeeps, WhatMainNeedsWhereThereIsNoRemote) {
  repo_.commit_all(two_);
  repo_.git(repo_.root(), {"checkout", "-q", "--detach"});
  repo_.git(repo_.root(), {"branch", "-q", "-f", "main", "two"});
  expect_kept_for("on the default branch: " + repo_.root() + "/.git");
}

TEST_F(GcKeeps, EverythingWhereTheDefaultBranchCannotBeTold) {
  repo_.git(repo_.root(), {"remote", "add", "origin", at("nowhere.git")});
  expect_blind_about("the default branch of", repo_.root() + "/.git");
}

TEST_F(GcKeeps, EverythingWhereARepositoryCannotBeRead) {
  if (runs_as_root()) GTEST_SKIP() << "root reads everything";
  close_off(repo_.root() + "/.git/worktrees");
  expect_blind_about("the worktrees of", repo_.root() + "/.git");
}

TEST_F(GcKeeps, EverythingWhereARootCannotBeListed) {
  if (runs_as_root()) GTEST_SKIP() << "root reads everything";
  make_dirs(at("extra"));
  repo_.git(repo_.root(), {"config", "--global", "pfnm.root", at("extra")});
  close_off(at("extra"));
  expect_blind_about("the root", at("extra"));
}

TEST_F(GcKeeps, EverythingWhereARootCannotBeReached) {
  ASSERT_EQ(::symlink("loop", at("loop").c_str()), 0);  // an error for root as well
  repo_.git(repo_.root(), {"config", "--global", "pfnm.root", at("loop/root")});
  expect_blind_about("the root", at("loop/root"));
}

TEST_F(GcKeeps, EverythingWhereADirectoryUnderARootCannotBeRead) {
  if (runs_as_root()) GTEST_SKIP() << "root reads everything";
  make_dirs(at("trees/closed"));
  close_off(at("trees/closed"));
  expect_blind_about("the directory", at("trees/closed"));
}

TEST_F(GcKeeps, EverythingWhereADirectoryUnderARootCanBeEnteredButNotListed) {
  if (runs_as_root()) GTEST_SKIP() << "root reads everything";
  make_dirs(at("trees/closed"));
  close_off(at("trees/closed"));
  ASSERT_EQ(::chmod(at("trees/closed").c_str(), 0111), 0);
  expect_blind_about("the directory", at("trees/closed"));
}

TEST_F(GcKeeps, WhatWasSealedUnderADayAgo) {
  set_time(store().paths.lease(key_), seconds_now() - 10 * k_two_days);  // never mind when it was used
  GcDrive drive;
  drive.ahead = 23 * 3600;
  expect_kept_for("recently made", drive);
}

TEST_F(GcKeeps, WhatWasUsedUnderADayAgo) {
  set_time(store().paths.lease(key_), seconds_now() + k_two_days - 23 * 3600);
  expect_kept_for("recently used");
}

TEST_F(GcKeeps, WhatAWorktreeUsedThatWasRemovedUnderADayAgo) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  repo_.git(repo_.root(), {"worktree", "remove", "--force", two_});
  set_time(at("trees"), seconds_now() + k_two_days - 23 * 3600);
  expect_kept_for("recently used");
  set_time(at("trees"), seconds_now());
  expect_reclaimed();
}

TEST_F(GcKeeps, WhatAWorktreeHasLeftUnderADayAgo) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  switch_to(mini_project().first, two_);
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  GcDrive drive;
  drive.ahead = 23 * 3600;
  const Ended ended = gc(drive);
  EXPECT_EQ(ended.rc, 0) << ended.err;
  EXPECT_THAT(reasons_in(ended.json(), key_).dump(), HasSubstr("recently used"));
  expect_untouched(ended);
  expect_reclaimed();
}

}  // namespace
}  // namespace pfnm::test
