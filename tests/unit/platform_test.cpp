// Changing the file system, locks and child processes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "nmstore/platform/file_lock.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/platform/process.hpp"
#include "nmstore/platform/read.hpp"
#include "tests/support/scratch.hpp"

namespace pfnm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using test::exists;
using test::names_in;
using test::read_text;
using test::ScratchTest;
using test::write_text;

class FailAt final : public MutationHook {
 public:
  FailAt(int k, int error) : k_(k), error_(error) {}
  int before(Mutation mutation, const char*) override {
    seen.push_back(mutation);
    return static_cast<int>(seen.size()) == k_ ? error_ : 0;
  }
  std::vector<Mutation> seen;

 private:
  int k_;
  int error_;
};

class FileSystem : public ScratchTest {
 protected:
  Fs fs_;
};

TEST_F(FileSystem, WriteFileReplacesTheContentAndNothingElse) {
  write_text(at("f"), "old", 0600);
  ASSERT_TRUE(fs_.write_file(AT_FDCWD, at("f"), "new", 0644).has_value());
  EXPECT_EQ(read_text(at("f")), "new");
  EXPECT_EQ(test::photograph(at("f")).at("").mode, 0644U);
}

TEST_F(FileSystem, WriteFileKeepsTheOldContentWhereverItFails) {
  for (int k = 1; k <= 3; ++k) {
    test::delete_tree(at("d"));
    write_text(at("d/f"), "old");
    FailAt hook(k, ENOSPC);
    const auto status = Fs(&hook).write_file(AT_FDCWD, at("d/f"), "new");
    ASSERT_FALSE(status.has_value()) << k;
    EXPECT_EQ(status.error().code, Errc::no_space);
    EXPECT_EQ(read_text(at("d/f")), "old") << k;
    EXPECT_THAT(names_in(at("d")), ElementsAre("f")) << k;
  }
}

TEST_F(FileSystem, CreateFileRefusesAnExistingNameAndLeavesNoHalfFile) {
  write_text(at("f"), "theirs");
  const auto status = fs_.create_file(AT_FDCWD, at("f"), "ours");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().sys_errno, EEXIST);
  EXPECT_EQ(read_text(at("f")), "theirs");
  FailAt hook(2, EIO);
  EXPECT_FALSE(Fs(&hook).create_file(AT_FDCWD, at("g"), "ours").has_value());
  EXPECT_FALSE(exists(at("g")));
}

TEST_F(FileSystem, CopyFileLeavesNoHalfFileAndTakesTheModeAskedFor) {
  write_text(at("from"), "content", 0444);
  ASSERT_TRUE(fs_.copy_file(AT_FDCWD, at("from"), AT_FDCWD, at("to"), 0755).has_value());
  EXPECT_EQ(read_text(at("to")), "content");
  EXPECT_EQ(test::photograph(at("to")).at("").mode, 0755U);
  EXPECT_FALSE(fs_.copy_file(AT_FDCWD, at("from"), AT_FDCWD, at("to"), 0755).has_value());
  ASSERT_EQ(::symlink(at("from").c_str(), at("link").c_str()), 0);
  EXPECT_FALSE(fs_.copy_file(AT_FDCWD, at("link"), AT_FDCWD, at("other"), 0644).has_value());
  EXPECT_FALSE(exists(at("other")));
}

TEST_F(FileSystem, MakeDirTakesTheExactModeWhateverTheUmask) {
  const mode_t before = ::umask(077);
  const auto made = fs_.make_dir(AT_FDCWD, at("d"), 0751);
  ::umask(before);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(test::photograph(at("d")).at("").mode, 0751U);
}

TEST_F(FileSystem, EnsureDirAcceptsADirectoryAndNothingElse) {
  test::make_dirs(at("d"));
  EXPECT_TRUE(fs_.ensure_dir(AT_FDCWD, at("d")).has_value());
  write_text(at("f"), "");
  EXPECT_FALSE(fs_.ensure_dir(AT_FDCWD, at("f")).has_value());
  ASSERT_EQ(::symlink(at("d").c_str(), at("link").c_str()), 0);
  EXPECT_FALSE(fs_.ensure_dir(AT_FDCWD, at("link")).has_value());
  EXPECT_TRUE(fs_.ensure_dirs(at("a/b/c")).has_value());
}

TEST_F(FileSystem, ReplaceSymlinkLeavesNoTemporaryName) {
  ASSERT_EQ(::symlink("old", at("l").c_str()), 0);
  ASSERT_TRUE(fs_.replace_symlink("new", AT_FDCWD, at("l")).has_value());
  EXPECT_EQ(test::link_text(at("l")), "new");
  test::make_dirs(at("d"));
  ASSERT_EQ(::symlink("old", at("d/l").c_str()), 0);
  FailAt hook(2, EIO);
  EXPECT_FALSE(Fs(&hook).replace_symlink("new", AT_FDCWD, at("d/l")).has_value());
  EXPECT_EQ(test::link_text(at("d/l")), "old");
  EXPECT_THAT(names_in(at("d")), ElementsAre("l"));
}

TEST_F(FileSystem, RenameNoreplaceReplacesNothing) {
  test::make_dirs(at("a"));
  test::make_dirs(at("b"));
  const auto status = fs_.rename_noreplace(AT_FDCWD, at("a"), AT_FDCWD, at("b"));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, Errc::already_exists);
  EXPECT_TRUE(fs_.rename_noreplace(AT_FDCWD, at("a"), AT_FDCWD, at("c")).has_value());
}

TEST_F(FileSystem, ExchangeSwapsTwoNames) {
  write_text(at("a/in-a"), "");
  write_text(at("b/in-b"), "");
  ASSERT_TRUE(fs_.exchange(AT_FDCWD, at("a"), AT_FDCWD, at("b")).has_value());
  EXPECT_TRUE(exists(at("a/in-b")));
  EXPECT_TRUE(exists(at("b/in-a")));
}

TEST_F(FileSystem, RemoveTreeDoesNotFollowLinks) {
  write_text(at("outside/kept"), "kept");
  test::make_dirs(at("tree/d"));
  ASSERT_EQ(::symlink(at("outside").c_str(), at("tree/d/link").c_str()), 0);
  ASSERT_EQ(::symlink(at("outside/kept").c_str(), at("tree/file").c_str()), 0);
  ASSERT_TRUE(remove_tree(fs_, AT_FDCWD, at("tree")).has_value());
  EXPECT_FALSE(exists(at("tree")));
  EXPECT_EQ(read_text(at("outside/kept")), "kept");
}

TEST_F(FileSystem, RemoveTreeOfALinkRemovesTheLink) {
  write_text(at("outside/kept"), "kept");
  ASSERT_EQ(::symlink(at("outside").c_str(), at("link").c_str()), 0);
  ASSERT_TRUE(remove_tree(fs_, AT_FDCWD, at("link")).has_value());
  EXPECT_FALSE(exists(at("link")));
  EXPECT_EQ(read_text(at("outside/kept")), "kept");
}

TEST_F(FileSystem, RemoveTreeTakesDirectoriesWithoutWriteBits) {
  write_text(at("tree/a/b/f"), "");
  ASSERT_EQ(::chmod(at("tree/a/b").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(at("tree/a").c_str(), 0000), 0);
  ASSERT_TRUE(remove_tree(fs_, AT_FDCWD, at("tree")).has_value());
  EXPECT_FALSE(exists(at("tree")));
}

TEST_F(FileSystem, RemoveTreeIsFineWhereNothingIs) {
  EXPECT_TRUE(remove_tree(fs_, AT_FDCWD, at("nothing")).has_value());
}

TEST_F(FileSystem, RemoveTreeDoesNotCrossADevice) {
  write_text(at("tree/d/keep-dir/x"), "");
  if (::mount("none", at("tree/d").c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "mounting a tmpfs needs root (PFNM_TEST_AS_ROOT=1) and CAP_SYS_ADMIN";
  write_text(at("tree/d/kept"), "kept");
  const auto removed = remove_tree(fs_, AT_FDCWD, at("tree"));
  const std::string text = read_text(at("tree/d/kept"));
  ::umount(at("tree/d").c_str());
  ASSERT_FALSE(removed.has_value());
  EXPECT_EQ(removed.error().code, Errc::refused);
  EXPECT_EQ(text, "kept");
}

TEST_F(FileSystem, TellsTheHookOfEveryKindOfChange) {
  FailAt hook(0, 0);
  const Fs fs(&hook);
  ASSERT_TRUE(fs.make_dir(AT_FDCWD, at("d")).has_value());
  ASSERT_TRUE(fs.make_symlink("t", AT_FDCWD, at("d/l")).has_value());
  ASSERT_TRUE(fs.rename(AT_FDCWD, at("d/l"), AT_FDCWD, at("d/m")).has_value());
  ASSERT_TRUE(fs.unlink(AT_FDCWD, at("d/m")).has_value());
  ASSERT_TRUE(fs.set_mode(AT_FDCWD, at("d"), 0700).has_value());
  ASSERT_TRUE(fs.set_mtime(AT_FDCWD, at("d"), 5).has_value());
  ASSERT_TRUE(fs.remove_dir(AT_FDCWD, at("d")).has_value());
  ASSERT_TRUE(fs.create_file(AT_FDCWD, at("f"), "x").has_value());
  ASSERT_TRUE(fs.copy_file(AT_FDCWD, at("f"), AT_FDCWD, at("g"), 0644).has_value());
  ASSERT_TRUE(fs.announce(Mutation::spawn, "p").has_value());
  EXPECT_THAT(hook.seen, ElementsAre(Mutation::make_dir, Mutation::symlink, Mutation::rename, Mutation::unlink,
                                     Mutation::set_mode, Mutation::set_times, Mutation::remove_dir, Mutation::create,
                                     Mutation::write, Mutation::copy, Mutation::spawn));
}

TEST_F(FileSystem, GivesUniqueNames) {
  EXPECT_NE(unique_name("x-"), unique_name("x-"));
  EXPECT_TRUE(unique_name("x-").starts_with("x-"));
}

class Reading : public ScratchTest {};

TEST_F(Reading, FindsNothingWhereNothingIs) {
  EXPECT_FALSE(find_stat(AT_FDCWD, at("nothing")).value().has_value());
  write_text(at("f"), "");
  EXPECT_FALSE(find_stat(AT_FDCWD, at("f/below")).value().has_value());
  EXPECT_FALSE(find_file(AT_FDCWD, at("nothing")).value().has_value());
}

TEST_F(Reading, SaysSoWhereItCannotTell) {
  if (test::runs_as_root()) GTEST_SKIP() << "mode bits do not stop root";
  write_text(at("closed/f"), "");
  ASSERT_EQ(::chmod(at("closed").c_str(), 0000), 0);
  const auto found = find_stat(AT_FDCWD, at("closed/f"));
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, Errc::not_permitted);
}

TEST_F(Reading, FollowsNoLinkAndHangsOnNoFifo) {
  write_text(at("f"), "x");
  ASSERT_EQ(::symlink(at("f").c_str(), at("l").c_str()), 0);
  EXPECT_FALSE(read_file(AT_FDCWD, at("l")).has_value());
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_file(AT_FDCWD, at("fifo")).value_or("nothing"), "");
  EXPECT_FALSE(MappedFile::open(AT_FDCWD, at("fifo")).has_value());
}

TEST_F(Reading, ListsNamesSortedByByte) {
  for (const char* name : {"b", "a", "Z", ".x", "@s"}) write_text(at(std::string("d/") + name), "");
  std::vector<std::string> names;
  const auto entries = list_dir_at(AT_FDCWD, at("d"));
  ASSERT_TRUE(entries.has_value());
  for (const DirEntry& entry : *entries) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre(".x", "@s", "Z", "a", "b"));
}

TEST_F(Reading, MapsAnEmptyFile) {
  write_text(at("empty"), "");
  EXPECT_EQ(MappedFile::open(AT_FDCWD, at("empty")).value().bytes(), "");
}

class Locks : public ScratchTest {
 protected:
  Fs fs_;
};

TEST_F(Locks, AreExclusiveBetweenDescriptors) {
  const auto first = FileLock::try_acquire(fs_, at("lock"), LockMode::exclusive);
  ASSERT_TRUE(first.has_value() && first->has_value());
  EXPECT_FALSE(FileLock::try_acquire(fs_, at("lock"), LockMode::exclusive).value().has_value());
  EXPECT_FALSE(FileLock::try_acquire(fs_, at("lock"), LockMode::shared).value().has_value());
}

TEST_F(Locks, AreSharedAmongSharers) {
  const auto first = FileLock::acquire(fs_, at("lock"), LockMode::shared);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(FileLock::try_acquire(fs_, at("lock"), LockMode::shared).value().has_value());
  EXPECT_FALSE(FileLock::try_acquire(fs_, at("lock"), LockMode::exclusive).value().has_value());
}

TEST_F(Locks, AreReleasedWithTheirOwner) {
  { const auto first = FileLock::acquire(fs_, at("lock"), LockMode::exclusive); }
  EXPECT_TRUE(FileLock::try_acquire(fs_, at("lock"), LockMode::exclusive).value().has_value());
}

TEST_F(Locks, DieWithTheProcessThatHoldsThem) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FileLock::acquire(fs_, at("lock"), LockMode::exclusive);
    std::ignore = ::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(FileLock::try_acquire(fs_, at("lock"), LockMode::exclusive).value().has_value());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(FileLock::try_acquire(fs_, at("lock"), LockMode::exclusive).value().has_value());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(Locks, OfADirectoryNeedNoFile) {
  test::make_dirs(at("d"));
  const auto first = FileLock::try_acquire_directory(at("d"));
  ASSERT_TRUE(first.has_value() && first->has_value());
  EXPECT_FALSE(FileLock::try_acquire_directory(at("d")).value().has_value());
  EXPECT_THAT(names_in(at("d")), IsEmpty());
}

TEST_F(Locks, FollowNoLink) {
  write_text(at("target"), "");
  ASSERT_EQ(::symlink(at("target").c_str(), at("lock").c_str()), 0);
  EXPECT_FALSE(FileLock::acquire(fs_, at("lock"), LockMode::shared).has_value());
}

class ChildProcess : public ScratchTest {
 protected:
  [[nodiscard]] ChildSpec shell(const std::string& script, const std::vector<std::string>& arguments = {}) const {
    ChildSpec spec;
    spec.argv = {"/bin/sh", "-c", script, "sh"};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    spec.environment = {"PATH=/usr/bin:/bin", "ONLY=this"};
    return spec;
  }
};

TEST_F(ChildProcess, GetsItsArgumentsUntouched) {
  const auto result = run_child(shell("for a in \"$@\"; do echo \"[$a]\"; done", {"a b", "$HOME", "*", "", "'\""}));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->out, "[a b]\n[$HOME]\n[*]\n[]\n['\"]\n");
}

TEST_F(ChildProcess, GetsOnlyTheEnvironmentGiven) {
  const auto result = run_child(shell("echo \"$ONLY|$HOME\""));
  EXPECT_EQ(result.value().out, "this|\n");
}

TEST_F(ChildProcess, KeepsOutputAndErrorsApart) {
  const auto result = run_child(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_FALSE(result->ok());
}

TEST_F(ChildProcess, DeliversMoreThanAPipeHolds) {
  const auto result = run_child(shell("head -c 3000000 /dev/zero; head -c 200000 /dev/zero >&2"));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->out.size(), 3000000U);
  EXPECT_EQ(result->err.size(), 200000U);
}

TEST_F(ChildProcess, IsKilledAtItsTimeLimit) {
  ChildSpec spec = shell("exec sleep 1000");
  spec.time_limit = std::chrono::milliseconds(1);
  const auto result = run_child(spec);
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->timed_out);
  EXPECT_FALSE(result->ok());
}

TEST_F(ChildProcess, ReportsTheSignalThatEndedIt) {
  EXPECT_EQ(run_child(shell("kill -TERM $$")).value().exit_code, 128 + SIGTERM);
}

TEST_F(ChildProcess, WritesBothStreamsToALogWhereOneIsGiven) {
  const Fd log(::open(at("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ChildSpec spec = shell("echo out; echo err >&2");
  spec.output = log.get();
  const auto result = run_child(spec);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->out, "");
  EXPECT_EQ(read_text(at("log")), "out\nerr\n");
}

TEST_F(ChildProcess, ReadsNothingFromStdin) { EXPECT_EQ(run_child(shell("cat; echo end")).value().out, "end\n"); }

TEST_F(ChildProcess, RunsInTheDirectoryGiven) {
  ChildSpec spec = shell("pwd");
  spec.directory = at("home");
  EXPECT_EQ(run_child(spec).value().out, at("home") + "\n");
}

TEST_F(ChildProcess, InheritsNoDescriptorButTheOneNamed) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd kept(::fcntl(null.get(), F_DUPFD_CLOEXEC, 50));  // a number that the child does not use itself
  ChildSpec spec = shell("ls /proc/self/fd | tr '\\n' ' '");
  const std::string without = run_child(spec).value().out;
  spec.keep_open = kept.get();
  const std::string with = run_child(spec).value().out;
  EXPECT_EQ(without.find(" " + std::to_string(kept.get()) + " "), std::string::npos);
  EXPECT_NE(with.find(" " + std::to_string(kept.get()) + " "), std::string::npos) << with;
}

TEST_F(ChildProcess, IsAnErrorWhereTheProgramIsMissing) {
  ChildSpec spec;
  spec.argv = {at("no-such-program")};
  const auto result = run_child(spec);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().path, at("no-such-program"));
}

TEST_F(ChildProcess, FindsProgramsInThePathGivenOnly) {
  write_text(at("bin/tool"), "#!/bin/sh\n", 0755);
  write_text(at("plain/tool"), "not executable", 0644);
  test::make_dirs(at("dir/tool"));
  EXPECT_EQ(find_program("tool", at("plain") + ":" + at("dir") + "::" + at("bin")), at("bin/tool"));
  EXPECT_FALSE(find_program("tool", at("plain")).has_value());
  EXPECT_FALSE(find_program("tool", "").has_value());
}

}  // namespace
}  // namespace pfnm
