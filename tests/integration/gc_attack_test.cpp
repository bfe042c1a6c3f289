// Nothing outside an install can be reached (issue 4, point 6): what a hostile or unlucky tree may hold, in an install
// that is reclaimed and in the trash that is deleted. The precious outside stays as it is, byte for byte; gc says what it
// left; once the obstacle is gone, a later run finishes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "nmstore/platform/fd.hpp"
#include "tests/support/gc_driver.hpp"

namespace pfnm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Takes itself off again, whatever happens.
class MountGuard {
 public:
  MountGuard(const std::string& source, std::string target, const char* type, unsigned long flags, const char* data)
      : target_(std::move(target)), mounted_(::mount(source.c_str(), target_.c_str(), type, flags, data) == 0) {}
  ~MountGuard() { take_off(); }
  MountGuard(const MountGuard&) = delete;
  MountGuard& operator=(const MountGuard&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  // By its place now: what it is in may have been moved.
  void take_off(const std::string& place = {}) {
    if (mounted_) mounted_ = ::umount2((place.empty() ? target_ : place).c_str(), MNT_DETACH) != 0;
  }

 private:
  std::string target_;
  bool mounted_;
};

void set_immutable(const std::string& path, bool on) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  int flags = 0;
  if (!fd || ::ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) != 0) return;
  flags = on ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
  std::ignore = ::ioctl(fd.get(), FS_IOC_SETFLAGS, &flags);
}

class ImmutableGuard {
 public:
  explicit ImmutableGuard(std::string path) : path_(std::move(path)) { set_immutable(path_, true); }
  ~ImmutableGuard() { set_immutable(path_, false); }
  ImmutableGuard(const ImmutableGuard&) = delete;
  ImmutableGuard& operator=(const ImmutableGuard&) = delete;
  [[nodiscard]] bool works() const {
    const Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    int flags = 0;
    return fd && ::ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_IMMUTABLE_FL) != 0;
  }

 private:
  std::string path_;
};

class GcAttack : public GcTest {
 protected:
  void SetUp() override {
    write_text(precious_ + "/file", "precious", 0640);
    write_text(precious_ + "/below/script", "#!/bin/sh\n", 0751);
    write_text(precious_ + "/.pf/intent", "not ours");
    ASSERT_EQ(::chmod((precious_ + "/below").c_str(), 0711), 0);
    write_text(scratch().home() + "/thesis", "years of work");
    outside_ = photograph(precious_);
    build_trashed_install();
    ASSERT_EQ(trash().items.size(), 1U);
    id_ = trash().items.front().id;
    item_ = in_trash(id_);
    // Closed, as it was sealed.
    ASSERT_EQ(::chmod(item_.c_str(), 0755), 0);
  }
  void TearDown() override {
    EXPECT_THAT(differences(outside_, photograph(precious_)), IsEmpty());
    EXPECT_EQ(read_text(scratch().home() + "/thesis"), "years of work");
  }

  // What is left by this run; gc must have said so.
  [[nodiscard]] Json run_gc(int rc = 0) {
    const Ended ended = gc();
    EXPECT_EQ(ended.rc, rc) << ended.out << ended.err;
    return ended.json();
  }
  void expect_all_deleted() {
    const Json answer = run_gc();
    EXPECT_THAT(names_in(store().paths.trash()), IsEmpty()) << answer.dump();
    expect_ledger_tells_the_truth("at the end");
  }
  void expect_left(const Json& answer, const std::string& what) {
    EXPECT_EQ(answer.value("removed", 99), 0) << answer.dump();
    EXPECT_THAT(answer.dump(), HasSubstr(what));
    EXPECT_TRUE(exists(in_trash(id_ + ".record"))) << "without its record nothing would delete the rest";
  }
  [[nodiscard]] std::string doomed() const { return in_trash("d" + id_.substr(1)); }

  std::string precious_ = at("precious");
  Tree outside_;
  std::string id_;
  std::string item_;
};

TEST_F(GcAttack, LinksInTheTrashLeadNowhere) {
  for (const auto& [name, target] : std::vector<std::pair<std::string, std::string>>{
           {"root", "/"}, {"home", scratch().home()}, {"precious", precious_}, {"file", precious_ + "/file"},
           {"up", "../../../../precious"}, {"dangling", "/nowhere"}, {"loop", "loop"}, {"dot", "."}})
    ASSERT_EQ(::symlink(target.c_str(), (item_ + "/" + name).c_str()), 0);
  expect_all_deleted();
}

TEST_F(GcAttack, ALinkInPlaceOfATrashItemIsAllThatGoes) {
  delete_tree(item_);
  ASSERT_EQ(::symlink(precious_.c_str(), item_.c_str()), 0);
  expect_all_deleted();
}

TEST_F(GcAttack, ALinkInPlaceOfATrashItemIsNotTakenBack) {
  delete_tree(item_);
  ASSERT_EQ(::symlink(precious_.c_str(), item_.c_str()), 0);
  fake_.forget_builds();
  EXPECT_EQ(pfnm({"link"}, two_).rc, 0);
  EXPECT_EQ(fake_.builds(), 1U);
  expect_provisioned("built anew", two_, mini_project().second);
}

TEST_F(GcAttack, ALinkInPlaceOfThePartlyDeletedItemIsAllThatGoes) {
  delete_tree(item_);
  ASSERT_EQ(::symlink(precious_.c_str(), doomed().c_str()), 0);
  expect_all_deleted();
}

TEST_F(GcAttack, AnInstallThatALinkReplacedIsKeptAndItsTargetUntouched) {
  ASSERT_EQ(InChild(link_work(two_, nullptr)).wait().rc, 0);
  repo_.git(repo_.root(), {"worktree", "remove", "--force", two_});
  const std::string install = store().paths.install(second_install());
  ASSERT_TRUE(exists(install)) << install;
  ASSERT_TRUE(exists(store().paths.seal(second_install())));
  ASSERT_EQ(::chmod(install.c_str(), 0755), 0);
  ASSERT_EQ(::rename(install.c_str(), at("moved").c_str()), 0);
  const Tree moved = photograph(at("moved"));
  // To the whole install elsewhere, and to something that never was one.
  for (const std::string& target : {at("moved"), precious_}) {
    ASSERT_EQ(::symlink(target.c_str(), install.c_str()), 0);
    const Json answer = run_gc();
    EXPECT_EQ(answer.value("reclaimed", 99), 0) << answer.dump();
    if (target != precious_) {
      EXPECT_THAT(answer.dump(), HasSubstr("something that is no directory has its name"));
    }
    EXPECT_EQ(link_text(install), target);
    ASSERT_EQ(::unlink(install.c_str()), 0);
  }
  EXPECT_THAT(differences(moved, photograph(at("moved"))), IsEmpty());
}

TEST_F(GcAttack, HardLinksToOutsideFilesTakeNothingWithThem) {
  ASSERT_EQ(::link((precious_ + "/file").c_str(), (item_ + "/file").c_str()), 0);
  ASSERT_EQ(::link((precious_ + "/below/script").c_str(), (item_ + "/script").c_str()), 0);
  expect_all_deleted();
}

TEST_F(GcAttack, NamesWithControlCharactersAreDeletedAndShownHarmlessly) {
  const std::string name = item_ + "/one\ntwo: \x1b[31mred";
  write_text(name + "/file", "text");
  expect_all_deleted();
}

TEST_F(GcAttack, ClosedDirectoriesAreOpened) {
  write_text(item_ + "/closed/deep/file", "text");
  ASSERT_EQ(::chmod((item_ + "/closed/deep").c_str(), 0000), 0);
  ASSERT_EQ(::chmod((item_ + "/closed").c_str(), 0000), 0);
  expect_all_deleted();
}

TEST_F(GcAttack, SocketsPipesAndDevicesAreUnlinkedWithoutBeingOpened) {
  ASSERT_EQ(::mkfifo((item_ + "/pipe").c_str(), 0600), 0);
  if (runs_as_root()) std::ignore = ::mknod((item_ + "/null").c_str(), S_IFCHR | 0600, makedev(1, 3));
  expect_all_deleted();
}

// A name of 200 bytes at each level: paths far beyond PATH_MAX, more levels than descriptors.
TEST_F(GcAttack, TwoThousandLevelsAreDeleted) {
  Fd at_level(::open(item_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string name(200, 'n');
  for (int level = 0; level < 2000; ++level) {
    ASSERT_EQ(::mkdirat(at_level.get(), name.c_str(), level % 7 == 0 ? 0555 | 0200 : 0755), 0);
    at_level = Fd(::openat(at_level.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(static_cast<bool>(at_level));
  }
  at_level = Fd();
  expect_all_deleted();
}

TEST_F(GcAttack, UnexplainedTrashIsReportedAndStays) {
  write_text(in_trash("t-nobody-knows/file"), "whose?");
  write_text(in_trash("something"), "else");
  write_text(in_trash("t-1-1-1.record"), "not a record");
  const Json answer = run_gc();
  EXPECT_EQ(answer.value("removed", 99), 1) << answer.dump();
  for (const char* name : {"t-nobody-knows", "something", "t-1-1-1.record"}) {
    EXPECT_THAT(answer["unexplained"].dump(), HasSubstr(name));
    EXPECT_TRUE(exists(in_trash(name)));
  }
}

// A copy made with cp in a place that nobody knows: a link there makes the place known, although nothing has to be done.
TEST_F(GcAttack, ALinkInACopyOfAWorktreeMakesItsPlaceKnown) {
  ASSERT_EQ(pfnm({"link"}, two_).rc, 0);
  copy_tree(two_, at("elsewhere/far/away/copy"));
  EXPECT_EQ(pfnm_json({"link"}, at("elsewhere/far/away/copy")).value("action", ""), "unchanged");
  repo_.git(repo_.root(), {"worktree", "remove", "--force", two_});
  const Json answer = run_gc();
  EXPECT_EQ(answer.value("reclaimed", 99), 0) << answer.dump();
}

class GcAttackAsRoot : public GcAttack {
 protected:
  void SetUp() override {
    if (!runs_as_root()) GTEST_SKIP() << "mounts and chattr need root (PFNM_TEST_AS_ROOT=1)";
    GcAttack::SetUp();
  }
  void TearDown() override {
    if (runs_as_root()) GcAttack::TearDown();
  }
};

TEST_F(GcAttackAsRoot, ABindMountOfTheSameDeviceInTheTrashIsNotEntered) {
  make_dirs(item_ + "/mounted");
  MountGuard mount(precious_, item_ + "/mounted", nullptr, MS_BIND, nullptr);
  if (!mount.mounted()) GTEST_SKIP() << "bind mounts need CAP_SYS_ADMIN";
  expect_left(run_gc(), "something is mounted there");
  EXPECT_EQ(names_in(doomed()), std::vector<std::string>{"mounted"});
  mount.take_off(doomed() + "/mounted");
  ASSERT_FALSE(mount.mounted());
  expect_all_deleted();
}

TEST_F(GcAttackAsRoot, AnotherFileSystemInTheTrashIsNotEntered) {
  make_dirs(item_ + "/mounted");
  MountGuard mount("none", item_ + "/mounted", "tmpfs", 0, "size=64k");
  if (!mount.mounted()) GTEST_SKIP() << "mounts need CAP_SYS_ADMIN";
  write_text(item_ + "/mounted/file", "theirs");
  expect_left(run_gc(), "something is mounted there");
  EXPECT_EQ(read_text(doomed() + "/mounted/file"), "theirs");
  mount.take_off(doomed() + "/mounted");
  expect_all_deleted();
}

TEST_F(GcAttackAsRoot, AFileMountedOverAFileOfTheTrashStays) {
  write_text(item_ + "/over", "");
  MountGuard mount(precious_ + "/file", item_ + "/over", nullptr, MS_BIND, nullptr);
  if (!mount.mounted()) GTEST_SKIP() << "bind mounts need CAP_SYS_ADMIN";
  expect_left(run_gc(), "over: Device or resource busy");
  mount.take_off(doomed() + "/over");
  expect_all_deleted();
}

TEST_F(GcAttackAsRoot, AnInstallWithAMountInsideIsNotReclaimed) {
  ASSERT_EQ(InChild(link_work(two_, nullptr)).wait().rc, 0);
  repo_.git(repo_.root(), {"worktree", "remove", "--force", two_});
  const std::string inside = store().paths.install(second_install()) + "/node_modules/plain-b";
  MountGuard mount(precious_, inside, nullptr, MS_BIND, nullptr);
  if (!mount.mounted()) GTEST_SKIP() << "bind mounts need CAP_SYS_ADMIN";
  const Json answer = run_gc();
  EXPECT_EQ(answer.value("reclaimed", 99), 0) << answer.dump();
  EXPECT_THAT(answer.dump(), HasSubstr("something is mounted in it"));
  mount.take_off();
  EXPECT_EQ(run_gc().value("reclaimed", 99), 1);
}

TEST_F(GcAttackAsRoot, AnImmutableFileIsLeftAndNamed) {
  write_text(item_ + "/keep/rock", "solid");
  ImmutableGuard rock(item_ + "/keep/rock");
  if (!rock.works()) GTEST_SKIP() << "this file system has no immutable files";
  expect_left(run_gc(), "keep/rock: Operation not permitted");
  EXPECT_EQ(read_text(doomed() + "/keep/rock"), "solid");
  set_immutable(doomed() + "/keep/rock", false);
  expect_all_deleted();
}

// One that cannot even be moved must not keep the others from going.
TEST_F(GcAttackAsRoot, AnImmutableItemDoesNotStopTheRest) {
  ImmutableGuard rock(item_);
  if (!rock.works()) GTEST_SKIP() << "this file system has no immutable files";
  const std::string other = in_trash("t-9-9-9");
  write_text(other + "/file", "text");
  std::string record = read_text(in_trash(id_ + ".record"));
  write_text(other + ".record", record);
  const Json answer = run_gc(1);
  EXPECT_THAT(answer.dump(), HasSubstr("Operation not permitted"));
  EXPECT_FALSE(exists(other));
  EXPECT_TRUE(exists(item_));
  expect_ledger_tells_the_truth("with an immutable item");
  set_immutable(item_, false);
  expect_all_deleted();
}

}  // namespace
}  // namespace pfnm::test
