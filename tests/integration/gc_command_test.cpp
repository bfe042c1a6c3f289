// `pfnm gc` as it is called: dry run, limits, window, history, exit codes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nmstore/base/digest.hpp"
#include "nmstore/platform/file_lock.hpp"
#include "tests/support/gc_driver.hpp"

namespace pfnm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GcCommand : public GcTest {
 protected:
  [[nodiscard]] Tree store_but_memos() const {
    return photograph(scratch().store(), [](const std::string& path) { return path == ".pf/memo"; });
  }
  // An environment in which the nightly window is that one.
  [[nodiscard]] std::vector<std::string> window(const std::string& text) const {
    write_text(at("window.config"), read_text(scratch().home() + "/.gitconfig") + "\tnightWindow = " + text + "\n");
    return {"GIT_CONFIG_GLOBAL=" + at("window.config")};
  }
  static std::string clock(std::int64_t seconds) {
    const std::int64_t minutes = seconds / 60 % (24 * 60);
    const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
    return two(minutes / 60) + ":" + two(minutes % 60);
  }
  // One more install that nothing uses: the second version under another lock.
  [[nodiscard]] std::string build_third() {
    const std::string text = read_text(mini_project().second.source + "/package-lock.json");
    const std::string digest = sha256(text + "\n").to_hex();
    copy_tree(at("fake/trees/" + sha256(text).to_hex()), at("fake/trees/" + digest));
    write_text(two_ + "/package-lock.json", text + "\n");
    EXPECT_EQ(pfnm({"install", "build"}, two_).rc, 0);
    switch_to(mini_project().second, two_);
    for (const std::string& name : names_in(scratch().store()))
      if (name.starts_with(digest)) return name;
    ADD_FAILURE() << "it was not built";
    return digest;
  }
  void used_at(const std::string& key, std::int64_t seconds) {
    const std::array<timespec, 2> times{{{seconds, 0}, {seconds, 0}}};
    ASSERT_EQ(::utimensat(AT_FDCWD, store().paths.lease(InstallName{key}).c_str(), times.data(), 0), 0);
  }
  // The command line's own clock: all that was made seems to be two days old.
  [[nodiscard]] Ended gc_of(const std::function<void(GcOptions&)>& change,
                            const std::vector<std::string>& more = {}) const {
    return InChild([&] {
             const Session session{Fs(), ProcessContext{with_environment(environment(), more), repo_.root()}};
             GcOptions options;
             options.form = OutputForm::json;
             options.now = [] { return seconds_now() + k_two_days; };
             change(options);
             return static_cast<int>(command_gc(session, options));
           })
        .wait();
  }
};

TEST_F(GcCommand, ADryRunChangesNothing) {
  build_unused_install();
  write_text(in_trash("mystery/file"), "x");
  const Tree before = store_but_memos();
  const Tree home = photograph(scratch().home());
  GcDrive drive;
  drive.apply = Apply::no;
  const Ended ended = gc(drive);
  EXPECT_EQ(ended.rc, 0) << ended.err;
  EXPECT_EQ(ended.json().value("chosen", 0), 1);
  EXPECT_EQ(pfnm({"gc"}, repo_.root()).rc, 0);
  EXPECT_EQ(pfnm({"gc", "--history"}, repo_.root()).rc, 0);
  EXPECT_THAT(differences(before, store_but_memos()), IsEmpty());
  EXPECT_THAT(differences(home, photograph(scratch().home())), IsEmpty());
}

TEST_F(GcCommand, SaysSoInWords) {
  build_unused_install();
  const RunResult result = pfnm({"gc"}, repo_.root());
  EXPECT_EQ(result.rc, 0) << result.all();
  EXPECT_THAT(result.out, HasSubstr("0 to reclaim"));
  EXPECT_THAT(result.out, HasSubstr("2 kept"));
  EXPECT_THAT(result.out, HasSubstr("--apply does it"));
}

TEST_F(GcCommand, ListGivesTheSameReasons) {
  build_unused_install();
  const Json listed = pfnm_json({"install", "ls"}, repo_.root());
  const Json planned = pfnm_json({"gc"}, repo_.root());
  ASSERT_EQ(listed["installs"].size(), 2U);
  for (const Json& install : planned["installs"])
    for (const Json& other : listed["installs"])
      if (other["key"] == install["key"]) {
        EXPECT_EQ(other["reasons"], install["reasons"]);
        EXPECT_EQ(other["verdict"], install["verdict"]);
      }
}

TEST_F(GcCommand, MaxBytesTakesTheLeastRecentlyUsed) {
  build_unused_install();
  const std::string second = second_install().text;
  const std::string third = build_third();
  used_at(second, seconds_now() - 1000);
  used_at(third, seconds_now() - 2000);
  GcDrive drive;
  drive.apply = Apply::no;
  ASSERT_EQ(gc(drive).json().value("chosen", 0), 2);
  const Ended ended = gc_of([](GcOptions& options) {
    options.apply = Apply::yes;
    options.wait = Wait::now;
    options.max_bytes = 1;
  });
  EXPECT_EQ(ended.rc, 0) << ended.err;
  EXPECT_EQ(ended.json().value("reclaimed", 0), 1) << ended.out;
  EXPECT_TRUE(exists(store().paths.seal(InstallName{second})));
  EXPECT_FALSE(exists(store().paths.seal(InstallName{third})));
}

TEST_F(GcCommand, MaxBytesIsRead) {
  build_unused_install();
  EXPECT_EQ(pfnm({"gc", "--max-bytes", "1G"}, repo_.root()).rc, 0);
  EXPECT_EQ(pfnm({"gc", "--max-bytes", "much"}, repo_.root()).rc, 2);
  EXPECT_EQ(pfnm({"gc", "--now"}, repo_.root()).rc, 2) << "without --apply there is nothing to wait for";
}

TEST_F(GcCommand, HistoryTellsWhatWasDone) {
  build_trashed_install();
  const std::string key = second_install().text;
  Json history = pfnm_json({"gc", "--history"}, repo_.root());
  EXPECT_EQ(history["schema"], "pfnm.gc-history/1");
  ASSERT_EQ(history["runs"].size(), 1U) << history.dump();
  EXPECT_EQ(history["runs"][0]["result"], "done");
  EXPECT_THAT(history.dump(), HasSubstr(key));
  EXPECT_THAT(history.dump(), HasSubstr("\"trashed\""));
  ASSERT_EQ(gc().rc, 0);
  history = pfnm_json({"gc", "--history"}, repo_.root());
  ASSERT_EQ(history["runs"].size(), 2U);
  EXPECT_THAT(history["runs"][0].dump(), HasSubstr("\"deleted\"")) << "the newest first";
  EXPECT_THAT(pfnm({"gc", "--history"}, repo_.root()).out, HasSubstr("reclaim " + key + ": trashed"));
}

TEST_F(GcCommand, HistoryOfNothing) {
  EXPECT_THAT(pfnm({"gc", "--history"}, repo_.root()).out, HasSubstr("no run of gc --apply is on record"));
  EXPECT_EQ(pfnm_json({"gc", "--history"}, repo_.root())["runs"], Json::array());
}

TEST_F(GcCommand, OutsideTheWindowNothingIsDoneAndItSaysWhen) {
  build_unused_install();
  const Tree before = store_but_memos();
  // Of the tested clock, the window is from two hours to three hours ahead; two days do not change the time of day.
  const std::int64_t now = seconds_now();
  const std::string opens = clock(now + 7200);
  const Ended ended =
      gc_of([](GcOptions& options) { options.apply = Apply::yes; }, window(opens + "-" + clock(now + 10800)));
  EXPECT_EQ(ended.rc, 0) << ended.out;
  EXPECT_EQ(ended.json().value("stopped", ""), "window");
  EXPECT_EQ(ended.json().value("chosen", 0), 1) << "the plan is shown";
  EXPECT_THAT(ended.err, HasSubstr("it opens at"));
  EXPECT_THAT(ended.err, HasSubstr("T" + opens + ":00Z"));
  const RunResult result = pfnm({"gc", "--apply"}, repo_.root(), window(opens + "-" + clock(now + 10800)));
  EXPECT_EQ(result.rc, 0) << result.all();
  EXPECT_THAT(result.err, HasSubstr("T" + opens + ":00Z"));
  EXPECT_THAT(differences(before, store_but_memos()), IsEmpty());
  EXPECT_FALSE(exists(ledger_file()));
}

TEST_F(GcCommand, InsideTheWindowItIsDone) {
  build_unused_install();
  const Ended ended = gc_of([](GcOptions& options) { options.apply = Apply::yes; }, window("00:00-24:00"));
  EXPECT_EQ(ended.rc, 0) << ended.err;
  EXPECT_EQ(ended.json().value("reclaimed", 0), 1) << ended.out;
}

TEST_F(GcCommand, AWindowThatNeverOpensSaysSo) {
  build_unused_install();
  const RunResult result = pfnm({"gc", "--apply"}, repo_.root(), window("03:00-03:00"));
  EXPECT_EQ(result.rc, 0) << result.all();
  EXPECT_THAT(result.err, HasSubstr("never opens"));
}

// The clock passes the window's end while the installs are judged.
TEST_F(GcCommand, TheWindowIsAskedBeforeEachItem) {
  build_unused_install();
  std::ignore = build_third();
  const std::int64_t start = (seconds_now() / 86400 + 2) * 86400 + 10 * 3600;
  const Ended ended = gc_of(
      [&](GcOptions& options) {
        options.apply = Apply::yes;
        options.now = [this, start] {
          return start + (names_in(store().paths.seals()).size() < 3 ? 7200 : 0);  // one of three is gone
        };
      },
      window("09:00-11:00"));
  EXPECT_EQ(ended.rc, 0) << ended.err;
  EXPECT_EQ(ended.json().value("stopped", ""), "window") << ended.out;
  EXPECT_EQ(ended.json().value("reclaimed", 0), 1) << ended.out;
  expect_sound("stopped");
}

TEST_F(GcCommand, ABadWindowIsAnError) {
  build_unused_install();
  const Tree before = store_but_memos();
  for (const char* bad : {"8-11", "08:00-25:00", "tonight", "\"\""}) {
    const RunResult result = pfnm({"gc", "--apply"}, repo_.root(), window(bad));
    EXPECT_NE(result.rc, 0) << bad;
    EXPECT_THAT(result.err, HasSubstr("HH:MM-HH:MM")) << bad;
  }
  EXPECT_THAT(differences(before, store_but_memos()), IsEmpty());
}

TEST_F(GcCommand, WithoutAStoreThereIsNothingToDo) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"gc"}, std::vector<std::string>{"gc", "--apply", "--now"}}) {
    const Json answer = pfnm_json(arguments, repo_.root());
    EXPECT_EQ(answer["schema"], "pfnm.gc/1");
    EXPECT_EQ(answer["installs"], Json::array());
  }
  EXPECT_FALSE(exists(scratch().store()));
  EXPECT_FALSE(exists(ledger_file()));
}

TEST_F(GcCommand, AnotherGcIsBusy) {
  build_unused_install();
  const auto lock = FileLock::acquire(Fs(), store().paths.gc_lock(), LockMode::exclusive);
  ASSERT_TRUE(lock.has_value());
  const RunResult result = pfnm({"gc", "--apply", "--now"}, repo_.root());
  EXPECT_EQ(result.rc, 7) << result.all();
  const Ended ended = gc();
  EXPECT_EQ(ended.rc, 7) << ended.err;
  EXPECT_TRUE(exists(store().paths.seal(second_install())));
  EXPECT_THAT(trash().items, IsEmpty());
  EXPECT_EQ(pfnm({"gc"}, repo_.root()).rc, 0) << "a dry run needs no lock";
}

TEST_F(GcCommand, BlindIsExitThreeAndNamed) {
  build_unused_install();
  repo_.git(repo_.root(), {"remote", "add", "origin", at("nowhere.git")});
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"gc"}, std::vector<std::string>{"gc", "--apply", "--now"}}) {
    const RunResult result = pfnm(arguments, repo_.root());
    EXPECT_EQ(result.rc, 3) << result.all();
    EXPECT_THAT(result.err, HasSubstr("BLIND cannot read the default branch of " + repo_.root() + "/.git"));
    EXPECT_THAT(result.err, HasSubstr("nothing is reclaimed"));
  }
}

}  // namespace
}  // namespace pfnm::test
