// A worktree and a store on different file systems, and a store without room.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/support/project_fixture.hpp"

namespace pfnm::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A directory in memory, where the kernel keeps one that everybody may use.
class Volumes : public ProjectTest {
 protected:
  void SetUp() override {
    std::string pattern = "/dev/shm/pfnm-test-XXXXXX";
    struct stat here {};
    struct stat there {};
    if (::mkdtemp(pattern.data()) == nullptr) GTEST_SKIP() << "no second file system: /dev/shm cannot be used";
    other_ = pattern;
    ASSERT_EQ(::stat(scratch().root().c_str(), &here), 0);
    ASSERT_EQ(::stat(other_.c_str(), &there), 0);
    if (here.st_dev == there.st_dev) GTEST_SKIP() << "no second file system: /dev/shm is the one of the scratch directory";
    repo_.git(repo_.root(), {"worktree", "add", "-q", "-b", "far", other_ + "/far"});
    far_ = other_ + "/far";
  }
  void TearDown() override {
    if (!other_.empty()) delete_tree(other_);
  }
  std::string other_;
  std::string far_;
};

TEST_F(Volumes, AWorktreeOnAnotherDeviceIsLinkedLikeAnyOther) {
  ASSERT_EQ(pfnm({"link"}, far_).rc, 0);
  EXPECT_THAT(layout_problems(far_, mini_project().first), IsEmpty());
  EXPECT_EQ(pfnm_json({"link"}, far_)["action"], "unchanged");
  switch_to(mini_project().second, far_);
  ASSERT_EQ(pfnm({"link"}, far_).rc, 0);
  EXPECT_THAT(layout_problems(far_, mini_project().second), IsEmpty());
}

TEST_F(Volumes, AWorktreeOnAnotherDeviceCanBePrivate) {
  ASSERT_EQ(pfnm({"private"}, far_).rc, 0);
  EXPECT_EQ(read_text(far_ + "/node_modules/plain-a/index.js"),
            read_text(mini_project().first.plain + "/node_modules/plain-a/index.js"));
}

TEST_F(Volumes, ForceKeepsWhatWasInTheWayOnItsOwnDevice) {
  write_text(far_ + "/node_modules/theirs/index.js", "theirs");
  Json json = pfnm_json({"link", "--force"}, far_);
  const std::string trashed = json["trashed"].get<std::string>();
  EXPECT_THAT(trashed, ::testing::StartsWith(far_ + "/"));
  EXPECT_EQ(read_text(trashed + "/theirs/index.js"), "theirs");
  EXPECT_EQ(repo_.status(far_), "");
  EXPECT_THAT(layout_problems(far_, mini_project().first), ::testing::Each(HasSubstr("left in the worktree: .pfnm-trash")));
}

TEST_F(Volumes, AStoreWithoutRoomIsSaidSoBeforeAnythingIsBuilt) {
  make_dirs(at("small"));
  if (::mount("none", at("small").c_str(), "tmpfs", 0, "size=512k,mode=0700") != 0)
    GTEST_SKIP() << "mounting a small tmpfs needs root (PFNM_TEST_AS_ROOT=1) and CAP_SYS_ADMIN";
  const Tree before = photograph(one_);
  const RunResult result = pfnm({"link"}, one_, {"PFNM_STORE=" + at("small/store")});
  const bool published = !names_in(at("small/store/.pf/seals")).empty();
  ::umount(at("small").c_str());
  EXPECT_EQ(result.rc, 1) << result.all();
  EXPECT_THAT(result.err, AllOf(HasSubstr("MiB are needed"), HasSubstr("free")));
  EXPECT_FALSE(published);
  EXPECT_EQ(fake_.builds(), 0U);
  EXPECT_THAT(differences(before, photograph(one_)), IsEmpty());
}

}  // namespace
}  // namespace pfnm::test
