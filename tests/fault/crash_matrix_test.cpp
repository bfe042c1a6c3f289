// The crash matrix (SPEC 13, Reliability): the program is stopped by SIGKILL, or the disk by ENOSPC and EIO, at every
// single change it makes, one run for each; then the real program has to heal what is left. Nothing is timed: the
// mutation hook counts.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "cli/commands.hpp"
#include "tests/support/project_fixture.hpp"

namespace pfnm::test {
namespace {

// What happens at the k-th change; counts all of them. Used by several threads at once.
class StopAt final : public MutationHook {
 public:
  enum class How { count_only, kill, fail };
  StopAt(How how, std::uint64_t k, int error) : how_(how), k_(k), error_(error) {}

  int before(Mutation, const char*) override {
    const std::uint64_t number = count_.fetch_add(1) + 1;
    if (number != k_) return 0;
    if (how_ == How::kill) ::kill(::getpid(), SIGKILL);
    return how_ == How::fail ? error_ : 0;
  }
  [[nodiscard]] std::uint64_t count() const { return count_.load(); }

 private:
  How how_;
  std::uint64_t k_;
  int error_;
  std::atomic<std::uint64_t> count_{0};
};

enum class Command { link, force_link, private_copy };

struct Stopped {
  bool killed = false;
  int rc = -1;
  std::uint64_t mutations = 0;  // of a run that was not killed
};

class CrashMatrix : public ProjectTest {
 protected:
  // Runs the command in a child process with the hook; output goes nowhere.
  [[nodiscard]] Stopped run_with(Command command, StopAt::How how, std::uint64_t k, int error) const {
    std::array<int, 2> pipe_ends{};
    EXPECT_EQ(::pipe(pipe_ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const int null = ::open("/dev/null", O_RDWR);
      for (const int fd : {0, 1, 2}) ::dup2(null, fd);
      StopAt hook(how, k, error);
      const Session session{Fs(&hook), ProcessContext{environment(), one_}};
      LinkOptions options;
      options.form = OutputForm::json;
      options.force = command == Command::force_link ? Force::yes : Force::no;
      const ExitCode code =
          command == Command::private_copy ? command_private(session, options) : command_link(session, options);
      const std::uint64_t count = hook.count();
      if (::write(pipe_ends[1], &count, sizeof(count)) != sizeof(count)) ::_exit(99);
      ::_exit(static_cast<int>(code));
    }
    ::close(pipe_ends[1]);
    Stopped stopped;
    if (::read(pipe_ends[0], &stopped.mutations, sizeof(stopped.mutations)) < 0) stopped.mutations = 0;
    ::close(pipe_ends[0]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    stopped.killed = WIFSIGNALED(status);
    stopped.rc = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return stopped;
  }

  // The state that every point starts from: made once, put back for each.
  void remember_start() {
    delete_tree(at("start"));
    make_dirs(at("start"));
    copy_tree(one_, at("start/one"));
    if (exists(scratch().store())) copy_tree(scratch().store(), at("start/store"));
  }
  void put_back() const {
    delete_tree(one_);
    copy_tree(at("start/one"), one_);
    delete_tree(scratch().store());
    if (exists(at("start/store"))) copy_tree(at("start/store"), scratch().store());
  }

  struct Scenario {
    std::string name;
    Command command = Command::link;
    std::uint64_t least = 0;  // changes that there must be at least: the number of points may not fall
    std::function<void(const std::string& point)> check;
  };

  // Every k, once killed, once with a full disk, once with a disk that fails.
  void step_through(const Scenario& scenario) {
    put_back();
    const Stopped whole = run_with(scenario.command, StopAt::How::count_only, 0, 0);
    ASSERT_EQ(whole.rc, 0);
    scenario.check("no fault");
    ASSERT_FALSE(HasFailure());
    std::uint64_t points = 0;
    const std::array<std::pair<StopAt::How, int>, 3> faults{
        {{StopAt::How::kill, 0}, {StopAt::How::fail, ENOSPC}, {StopAt::How::fail, EIO}}};
    for (const auto& [how, error] : faults) {
      for (std::uint64_t k = 1; k <= whole.mutations; ++k) {
        const std::string point = scenario.name + (how == StopAt::How::kill ? " killed" : error == ENOSPC ? " ENOSPC" : " EIO") +
                                  " at change " + std::to_string(k) + " of " + std::to_string(whole.mutations);
        put_back();
        const Stopped stopped = run_with(scenario.command, how, k, error);
        EXPECT_EQ(stopped.killed, how == StopAt::How::kill) << point;
        expect_no_half_state_believed(point);
        scenario.check(point);
        ++points;
        if (::testing::Test::HasFailure()) {
          ADD_FAILURE() << "first failing point: " << point;
          return;
        }
      }
    }
    std::printf("crash matrix: %s: %llu points\n", scenario.name.c_str(), static_cast<unsigned long long>(points));
    std::fflush(stdout);
    EXPECT_GE(points, 3 * scenario.least);
  }

  // `status` may call intact only what is complete.
  void expect_no_half_state_believed(const std::string& point) {
    const Json status = pfnm_json({"status"}, one_);
    if (status.value("intact", false) && status.value("layout", "") == "links") {
      const bool first = read_text(one_ + "/node_modules/needs-ws/package.json").find("1.0.0\", \"main") != std::string::npos;
      auto problems = layout_problems(one_, first ? mini_project().first : mini_project().second);
      std::erase_if(problems, [](const std::string& problem) { return problem.starts_with("left in"); });
      EXPECT_EQ(Json(problems).dump(), "[]") << point << ": status says intact";
    }
    if (status.value("sealed", false) && !status.value("install", "").empty()) {
      const RunResult verified = pfnm({"install", "verify", status.value("key", "")}, one_);
      EXPECT_EQ(verified.rc, 0) << point << ": " << verified.all();
    }
  }

  void expect_link_heals(const std::string& point, const ProjectVersion& version) {
    const RunResult healed = pfnm({"link"}, one_);
    EXPECT_EQ(healed.rc, 0) << point << ": " << healed.all();
    const auto problems = layout_problems(one_, version);
    EXPECT_EQ(Json(problems).dump(), "[]") << point;
    const Json status = pfnm_json({"status"}, one_);
    EXPECT_EQ(status.value("intact", false), true) << point << ": " << status.dump();
    EXPECT_EQ(status.value("action", ""), "unchanged") << point << ": " << status.dump();
    EXPECT_EQ(repo_.git(one_, {"status", "--porcelain", "--untracked-files=all", "--", ":!package.json", ":!package-lock.json"}), "")
        << point;
  }

  // A file that somebody put there is where it was, or below node_modules/.pf-aside under the path it had.
  void expect_kept(const std::string& point, const std::string& path, const std::string& text) const {
    if (read_text(one_ + "/" + path) == text) return;
    for (const std::string& run : names_in(one_ + "/node_modules/.pf-aside"))
      if (read_text(one_ + "/node_modules/.pf-aside/" + run + "/" + path) == text) return;
    for (const std::string& name : names_in(one_ + "/node_modules/.pf-aside")) {
      // Moved aside twice: once by the run that was stopped, once by the one that healed.
      for (const auto& [below, entry] : photograph(one_ + "/node_modules/.pf-aside/" + name))
        if (below.ends_with(path) && entry.type == 'f' &&
            read_text(one_ + "/node_modules/.pf-aside/" + name + "/" + below) == text)
          return;
    }
    ADD_FAILURE() << point << ": lost " << path;
  }
};

TEST_F(CrashMatrix, ABuildAndAFirstLinkHealFromEveryPoint) {
  remember_start();
  step_through({"build and first link", Command::link, 180,
                [&](const std::string& point) { expect_link_heals(point, mini_project().first); }});
}

TEST_F(CrashMatrix, AFirstLinkIntoWorkspacesWithContentHealsFromEveryPoint) {
  ASSERT_EQ(pfnm({"install", "build"}, one_).rc, 0);
  write_text(one_ + "/packages/a/node_modules/mine/index.js", "by hand");
  write_text(one_ + "/packages/a/node_modules/.cache/entry", "cached");
  remember_start();
  step_through({"first link", Command::link, 60, [&](const std::string& point) {
                  expect_link_heals(point, mini_project().first);
                  expect_kept(point, "packages/a/node_modules/mine/index.js", "by hand");
                  expect_kept(point, "packages/a/node_modules/.cache/entry", "cached");
                }});
}

TEST_F(CrashMatrix, ARelinkHealsFromEveryPoint) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  switch_to(mini_project().second, one_);
  ASSERT_EQ(pfnm({"install", "build"}, one_).rc, 0);
  write_text(one_ + "/node_modules/.cache/entry", "cached");
  write_text(one_ + "/node_modules/mine/index.js", "by hand");
  write_text(one_ + "/node_modules/@scope/one-of-mine/index.js", "by hand, scoped");
  write_text(one_ + "/node_modules/needs-ws/local.txt", "an edit");
  remember_start();
  step_through({"re-link", Command::link, 50, [&](const std::string& point) {
                  expect_link_heals(point, mini_project().second);
                  expect_kept(point, "node_modules/.cache/entry", "cached");
                  expect_kept(point, "node_modules/mine/index.js", "by hand");
                  expect_kept(point, "node_modules/@scope/one-of-mine/index.js", "by hand, scoped");
                  expect_kept(point, "node_modules/needs-ws/local.txt", "an edit");
                }});
}

TEST_F(CrashMatrix, APrivateCopyHealsFromEveryPoint) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(one_ + "/node_modules/.cache/entry", "cached");
  write_text(one_ + "/node_modules/mine/index.js", "by hand");
  write_text(one_ + "/node_modules/needs-ws/local.txt", "an edit");
  write_text(one_ + "/packages/a/node_modules/mine/index.js", "by hand in a");
  remember_start();
  step_through({"private", Command::private_copy, 100, [&](const std::string& point) {
                  const RunResult healed = pfnm({"private"}, one_);
                  EXPECT_EQ(healed.rc, 0) << point << ": " << healed.all();
                  EXPECT_EQ(pfnm_json({"status"}, one_).value("layout", ""), "private") << point;
                  EXPECT_EQ(link_text(one_ + "/node_modules/plain-a"), "") << point;
                  EXPECT_EQ(read_text(one_ + "/node_modules/plain-a/index.js"),
                            read_text(mini_project().first.plain + "/node_modules/plain-a/index.js"))
                      << point;
                  EXPECT_EQ(link_text(one_ + "/packages/a/node_modules/x"), "") << point;
                  expect_kept(point, "node_modules/.cache/entry", "cached");
                  expect_kept(point, "node_modules/mine/index.js", "by hand");
                  expect_kept(point, "node_modules/needs-ws/local.txt", "an edit");
                  expect_kept(point, "packages/a/node_modules/mine/index.js", "by hand in a");
                  for (const std::string& name : names_in(one_))
                    EXPECT_FALSE(name.starts_with(".pfnm-")) << point << ": left " << name;
                }});
}

TEST_F(CrashMatrix, ALinkAfterAStoppedPrivateLosesNothing) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  write_text(one_ + "/node_modules/.cache/entry", "cached");
  write_text(one_ + "/node_modules/mine/index.js", "by hand");
  write_text(one_ + "/node_modules/needs-ws/local.txt", "an edit");
  write_text(one_ + "/packages/a/node_modules/mine/index.js", "by hand in a");
  remember_start();
  step_through({"private, then link", Command::private_copy, 100, [&](const std::string& point) {
                  const RunResult linked = pfnm({"link"}, one_);
                  EXPECT_EQ(linked.rc, 0) << point << ": " << linked.all();
                  if (pfnm_json({"status"}, one_).value("layout", "") != "private") {
                    EXPECT_EQ(Json(layout_problems(one_, mini_project().first)).dump(), "[]") << point;
                  }
                  expect_kept(point, "node_modules/.cache/entry", "cached");
                  expect_kept(point, "node_modules/mine/index.js", "by hand");
                  expect_kept(point, "node_modules/needs-ws/local.txt", "an edit");
                  expect_kept(point, "packages/a/node_modules/mine/index.js", "by hand in a");
                }});
}

TEST_F(CrashMatrix, ALinkAfterDestructiveChangesHealsFromEveryPoint) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  delete_tree(one_ + "/node_modules/plain-a");
  delete_tree(one_ + "/node_modules/@scope");
  delete_tree(one_ + "/node_modules/.bin");
  delete_tree(one_ + "/node_modules/.pf");
  delete_tree(one_ + "/packages/a/node_modules");
  write_text(one_ + "/node_modules/plain-b-of-mine/index.js", "by hand");
  delete_tree(one_ + "/node_modules/x");
  write_text(one_ + "/node_modules/x/index.js", "instead of the link");
  remember_start();
  step_through({"after destruction", Command::link, 45, [&](const std::string& point) {
                  expect_link_heals(point, mini_project().first);
                  expect_kept(point, "node_modules/plain-b-of-mine/index.js", "by hand");
                  expect_kept(point, "node_modules/x/index.js", "instead of the link");
                }});
}

TEST_F(CrashMatrix, AForcedLinkLosesNothingAtAnyPoint) {
  write_text(one_ + "/node_modules/theirs/index.js", "an unmarked tree");
  ASSERT_EQ(pfnm({"install", "build"}, one_).rc, 0);
  remember_start();
  step_through({"link --force", Command::force_link, 60, [&](const std::string& point) {
                  const RunResult healed = pfnm({"link", "--force"}, one_);
                  EXPECT_EQ(healed.rc, 0) << point << ": " << healed.all();
                  EXPECT_EQ(Json(layout_problems(one_, mini_project().first)).dump(), "[]") << point;
                  bool kept = false;
                  for (const std::string& name : names_in(scratch().store() + "/.pf/trash"))
                    kept = kept || read_text(scratch().store() + "/.pf/trash/" + name + "/theirs/index.js") == "an unmarked tree";
                  EXPECT_TRUE(kept) << point << ": the former node_modules is lost";
                }});
}

}  // namespace
}  // namespace pfnm::test
