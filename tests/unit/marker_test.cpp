// What names an install: markers in directories, keys in texts and paths, and the mount table.
#include "nmstore/reclaim/marker.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nmstore/platform/mounts.hpp"
#include "nmstore/platform/process_uses.hpp"
#include "tests/support/scratch.hpp"

namespace pfnm {
namespace {

using test::make_dirs;
using test::write_text;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string k_a(64, 'a');
const std::string k_b(64, 'b');

TEST(KeysIn, FindsEveryKeyOnce) {
  EXPECT_THAT(keys_in(k_a), ElementsAre(k_a));
  EXPECT_THAT(keys_in(k_a + "\n" + k_b + "\n" + k_a + "\n"), ElementsAre(k_a, k_b));
  EXPECT_THAT(keys_in("key = \"" + k_a + "-linux-x64-abi115\";"), ElementsAre(k_a + "-linux-x64-abi115"));
  EXPECT_THAT(keys_in("/store/" + k_a + "/node_modules"), ElementsAre(k_a));
}

TEST(KeysIn, TakesTheLast64OfALongerRun) { EXPECT_THAT(keys_in("ff" + k_a), ElementsAre(k_a)); }

TEST(KeysIn, FindsNoneWhereThereIsNone) {
  for (const std::string& text : {std::string(), std::string("x"), k_a.substr(1), std::string(64, 'A'),
                                  k_a.substr(0, 32) + "\n" + k_a.substr(0, 32), std::string(64, 'g')})
    EXPECT_THAT(keys_in(text), IsEmpty()) << text;
}

TEST(KeyInPath, IsTheComponent) {
  EXPECT_EQ(key_in_path("/s/" + k_a), k_a);
  EXPECT_EQ(key_in_path("/s/" + k_a + "/"), k_a);
  EXPECT_EQ(key_in_path("/s/" + k_a + "-linux-x64/node_modules/x"), k_a + "-linux-x64");
  EXPECT_EQ(key_in_path(k_a + "/x"), k_a);
  EXPECT_EQ(key_in_path("/mnt/other/name/" + k_a + "/x"), k_a) << "another mount namespace";
}

TEST(KeyInPath, SeesThroughDeleted) {
  EXPECT_EQ(key_in_path("/s/" + k_a + " (deleted)"), k_a);
  EXPECT_EQ(key_in_path("/s/" + k_a + "/node_modules/x (deleted)"), k_a);
}

TEST(KeyInPath, IsNotWhatTheStoreKeepsUnderItsName) {
  EXPECT_EQ(key_in_path("/s/.pf/leases/" + k_a), "");
  EXPECT_EQ(key_in_path("/s/.pf/leases/" + k_a + " (deleted)"), "");
  EXPECT_EQ(key_in_path("/s/.pf/seals/" + k_a), "");
  EXPECT_EQ(key_in_path("/s/.pf/locks/build-" + k_a), "");
  EXPECT_EQ(key_in_path("/s/.pf/logs/" + k_a + ".log"), "");
  EXPECT_EQ(key_in_path("/s/.pf/leases/" + k_a + "/" + k_b), k_b);
  EXPECT_EQ(key_in_path("/s/leases/" + k_a), k_a) << "only of a .pf";
}

TEST(KeyInPath, IsEmptyElsewhere) {
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("//"), "/s/x" + k_a, "/s/" + k_a.substr(1), "/s/" + k_a + ".txt",
        "/s/" + k_a + "~/x", std::string("socket:[1]")})
    EXPECT_EQ(key_in_path(path), "") << path;
}

class MarkerIn : public test::ScratchTest {
 protected:
  [[nodiscard]] Marker read() const { return read_marker(at("m")); }
  void link(const std::string& target, const std::string& name) const {
    make_dirs(at("m/.pf"));
    ASSERT_EQ(::symlink(target.c_str(), at("m/" + name).c_str()), 0);
  }
};

TEST_F(MarkerIn, OurLayout) {
  link("/s/" + k_a + "-linux", ".pf/shared");
  EXPECT_EQ(read().state, Marker::State::names) << "unfinished, or its marker was removed";
  link(".pf/shared", ".pf-shared");
  EXPECT_EQ(read().state, Marker::State::names);
  EXPECT_EQ(read().match, Marker::Match::exact);
  EXPECT_THAT(read().keys, ElementsAre(k_a + "-linux"));
  EXPECT_TRUE(read().matches(InstallName{k_a + "-linux"}));
  EXPECT_FALSE(read().matches(InstallName{k_a}));
}

TEST_F(MarkerIn, AnOlderHelpersFile) {
  write_text(at("m/.pf-shared"), k_a);
  EXPECT_EQ(read().match, Marker::Match::same_lock);
  EXPECT_TRUE(read().matches(InstallName{k_a}));
  EXPECT_TRUE(read().matches(InstallName{k_a + "-linux"})) << "it knew the lock only";
  EXPECT_FALSE(read().matches(InstallName{k_b}));
}

TEST_F(MarkerIn, AnOlderHelpersLink) {
  link("/s/" + k_a, ".pf-shared");
  EXPECT_TRUE(read().matches(InstallName{k_a}));
}

TEST_F(MarkerIn, ALinkIntoAnInstall) {
  link("/s/" + k_a + "/node_modules", ".pf-shared");
  EXPECT_TRUE(read().matches(InstallName{k_a}));
}

TEST_F(MarkerIn, AFileThatNamesNothingHidesNoHop) {
  write_text(at("m/.pf-shared"), "something else");
  EXPECT_EQ(read().state, Marker::State::none);
  link("/s/" + k_b, ".pf/shared");
  EXPECT_TRUE(read().matches(InstallName{k_b}));
}

TEST_F(MarkerIn, NothingThere) {
  EXPECT_EQ(read().state, Marker::State::none);
  EXPECT_EQ(read().changed_at, 0);
  make_dirs(at("m"));
  EXPECT_EQ(read().state, Marker::State::none);
  EXPECT_GT(read().changed_at, 0);
  write_text(at("m/.pf"), "a file");
  EXPECT_EQ(read().state, Marker::State::none);
}

TEST_F(MarkerIn, ALinkThatLeadsNowhereIsNotNothing) {
  ASSERT_EQ(::symlink(at("unmounted/m").c_str(), at("m").c_str()), 0);
  EXPECT_EQ(read().state, Marker::State::unreadable);
  EXPECT_FALSE(read().why.empty());
}

TEST_F(MarkerIn, ADirectoryThatCannotBeEntered) {
  if (test::runs_as_root()) GTEST_SKIP() << "root reads everything";
  write_text(at("m/.pf-shared"), k_a);
  ASSERT_EQ(::chmod(at("m").c_str(), 0600), 0);
  EXPECT_EQ(read().state, Marker::State::unreadable);
  ASSERT_EQ(::chmod(at("m").c_str(), 0700), 0);
  ASSERT_EQ(::chmod(at("m/.pf-shared").c_str(), 0), 0);
  EXPECT_EQ(read().state, Marker::State::unreadable);
}

TEST(MountTable, IsReadAsTheKernelWritesIt) {
  const auto mounts = parse_mountinfo(
      "22 28 0:20 / /proc rw,nosuid shared:12 - proc proc rw\n"
      "36 35 98:0 /mnt1 /mnt\\0402/a\\134b rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue\n"
      "37 35 98:0 /tab\\011 /nl\\012 rw - xfs /dev/x rw\n");
  ASSERT_EQ(mounts.size(), 3U);
  EXPECT_EQ(mounts[0].mount_point, "/proc");
  EXPECT_EQ(mounts[0].type, "proc");
  EXPECT_EQ(mounts[1].root, "/mnt1");
  EXPECT_EQ(mounts[1].mount_point, "/mnt 2/a\\b");
  EXPECT_EQ(mounts[1].type, "ext3");
  EXPECT_EQ(mounts[2].root, "/tab\t");
  EXPECT_EQ(mounts[2].mount_point, "/nl\n");
}

TEST(MountTable, LeavesOutWhatItDoesNotUnderstand) {
  EXPECT_THAT(parse_mountinfo(""), IsEmpty());
  EXPECT_THAT(parse_mountinfo("\n\n"), IsEmpty());
  EXPECT_THAT(parse_mountinfo("22 28 0:20 / /proc rw"), IsEmpty());
  EXPECT_THAT(parse_mountinfo("22 28 0:20 / /proc rw shared:12 -"), IsEmpty());
  EXPECT_EQ(parse_mountinfo("x\n1 2 0:1 / /a rw - tmpfs tmpfs rw\ny").size(), 1U);
}

TEST(MountTable, OfThisProcessHasARoot) {
  const auto mounts = list_mounts();
  ASSERT_TRUE(mounts.has_value());
  EXPECT_TRUE(std::any_of(mounts->begin(), mounts->end(), [](const Mount& mount) { return mount.mount_point == "/"; }));
}

TEST(MountTable, KnowsKernelInterfaces) {
  EXPECT_TRUE(is_kernel_interface("proc"));
  EXPECT_FALSE(is_kernel_interface("ext4"));
  EXPECT_FALSE(is_kernel_interface("tmpfs"));
}

TEST(MappedPath, IsTheLastField) {
  EXPECT_EQ(mapped_path("7f00-7f01 r-xp 00000000 08:01 1234                       /usr/lib/x.so"), "/usr/lib/x.so");
  EXPECT_EQ(mapped_path("7f00-7f01 r--p 00000000 08:01 1234   /with a space/x (deleted)"), "/with a space/x (deleted)");
  EXPECT_EQ(mapped_path("7f00-7f01 rw-p 00000000 00:00 0                          [heap]"), "");
  EXPECT_EQ(mapped_path("7f00-7f01 rw-p 00000000 00:00 0"), "");
  EXPECT_EQ(mapped_path(""), "");
}

}  // namespace
}  // namespace pfnm
