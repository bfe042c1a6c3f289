// What is read from a worktree: the project, its inputs, what stands at node_modules, copies of a subtree.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "nmstore/git/git_cli.hpp"
#include "nmstore/git/project.hpp"
#include "nmstore/layout/tree_survey.hpp"
#include "nmstore/store/inputs.hpp"
#include "tests/support/scratch.hpp"

namespace pfnm {
namespace {

using ::testing::HasSubstr;
using test::make_dirs;
using test::ScratchTest;
using test::write_text;

class ProjectDiscovery : public ScratchTest {
 protected:
  ProjectDiscovery() {
    git({"init", "-q", at("repo")});
    write_text(at("repo/package-lock.json"), "{}");
    git({"-C", at("repo"), "add", "-A"});
    git({"-C", at("repo"), "commit", "-q", "-m", "x"});
    git({"-C", at("repo"), "worktree", "add", "-q", at("linked")});
  }
  void git(std::vector<std::string> argv) const {
    argv.insert(argv.begin(), "git");
    const auto result = test::run({argv, scratch().environment(), "/"});
    ASSERT_EQ(result.rc, 0) << result.all();
  }
};

TEST_F(ProjectDiscovery, FindsTheMainCheckout) {
  const auto project = find_project(at("repo"));
  ASSERT_TRUE(project.has_value()) << project.error().message();
  EXPECT_EQ(project->root, at("repo"));
  EXPECT_EQ(project->worktree.git_dir, at("repo/.git"));
  EXPECT_EQ(project->worktree.common_dir, at("repo/.git"));
}

TEST_F(ProjectDiscovery, FindsALinkedWorktreeAndItsRepository) {
  const auto project = find_project(at("linked"));
  ASSERT_TRUE(project.has_value()) << project.error().message();
  EXPECT_EQ(project->worktree.root, at("linked"));
  EXPECT_EQ(project->worktree.git_dir, at("repo/.git/worktrees/linked"));
  EXPECT_EQ(project->worktree.common_dir, at("repo/.git"));
}

TEST_F(ProjectDiscovery, TakesTheNearestLockAbove) {
  write_text(at("repo/app/package-lock.json"), "{}");
  make_dirs(at("repo/app/src/deep"));
  make_dirs(at("repo/other"));
  EXPECT_EQ(find_project(at("repo/app/src/deep")).value().root, at("repo/app"));
  EXPECT_EQ(find_project(at("repo/other")).value().root, at("repo"));
}

TEST_F(ProjectDiscovery, PrefersAShrinkwrapAsNpmDoes) {
  write_text(at("repo/npm-shrinkwrap.json"), "{}");
  EXPECT_EQ(find_project(at("repo")).value().lock_path(), at("repo/npm-shrinkwrap.json"));
}

TEST_F(ProjectDiscovery, DoesNotLookAboveTheWorktree) {
  write_text(at("package-lock.json"), "{}");
  test::delete_tree(at("repo/package-lock.json"));
  const auto project = find_project(at("repo"));
  ASSERT_FALSE(project.has_value());
  EXPECT_EQ(project.error().code, Errc::bad_input);
}

TEST_F(ProjectDiscovery, ResolvesALinkToTheDirectory) {
  ASSERT_EQ(::symlink(at("linked").c_str(), at("alias").c_str()), 0);
  EXPECT_EQ(find_project(at("alias")).value().root, at("linked"));
}

TEST_F(ProjectDiscovery, RefusesAGitFileThatLeadsNowhere) {
  for (const std::string& text : {std::string(), std::string("nonsense\n"), "gitdir: " + at("gone") + "\n"}) {
    write_text(at("linked/.git"), text);
    const auto worktree = find_worktree(at("linked"));
    ASSERT_FALSE(worktree.has_value()) << text;
    EXPECT_THAT(worktree.error().message(), HasSubstr(at("linked"))) << text;
  }
}

TEST_F(ProjectDiscovery, FollowsARelativeGitFile) {
  write_text(at("linked/.git"), "gitdir: ../repo/.git/worktrees/linked\n");
  EXPECT_EQ(find_worktree(at("linked")).value().git_dir, at("repo/.git/worktrees/linked"));
}

TEST_F(ProjectDiscovery, SeesPlainIgnorePatternsOnly) {
  const auto answer = [&](const std::string& gitignore, const std::string& exclude) {
    write_text(at("repo/.gitignore"), gitignore);
    write_text(at("repo/.git/info/exclude"), exclude);
    return survey_ignored(find_worktree(at("repo")).value());
  };
  for (const char* line : {"node_modules", "node_modules/", "**/node_modules", "**/node_modules/", "node_modules \r"}) {
    EXPECT_EQ(answer(std::string("dist\n") + line + "\n", ""), NodeModulesIgnored::yes) << line;
    EXPECT_EQ(answer("", std::string("# c\n") + line), NodeModulesIgnored::yes) << line;
  }
  for (const char* line : {"", "/node_modules/x", "node_module?", "# node_modules", "packages/node_modules"})
    EXPECT_EQ(answer(line, ""), NodeModulesIgnored::unsure) << line;
  EXPECT_EQ(answer("node_modules\n!node_modules/mine\n", ""), NodeModulesIgnored::unsure);
}

TEST(GitEnvironment, DropsWhatAGitHookIsGivenAndAsksForPlainAnswers) {
  const auto clean = git_environment({"GIT_DIR=/x", "GIT_INDEX_FILE=/y", "GIT_CONFIG_KEY_0=a", "GIT_CONFIG_VALUE_0=b",
                                      "GIT_CONFIG_COUNT=1", "GIT_SSH=kept", "HOME=/h", "LC_ALL=de_DE.UTF-8"});
  const auto has = [&](const std::string& entry) { return std::find(clean.begin(), clean.end(), entry) != clean.end(); };
  for (const char* entry : {"GIT_SSH=kept", "HOME=/h", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0"})
    EXPECT_TRUE(has(entry)) << entry;
  EXPECT_EQ(clean.size(), 5U);
}

class GitVariables : public ScratchTest {};

TEST_F(GitVariables, AreAllThatThisGitCallsLocal) {
  const auto result = test::run({{"git", "rev-parse", "--local-env-vars"}, scratch().environment(), "/"});
  ASSERT_EQ(result.rc, 0);
  std::size_t start = 0;
  std::size_t count = 0;
  for (std::size_t end = 0; (end = result.out.find('\n', start)) != std::string::npos; start = end + 1, ++count)
    EXPECT_TRUE(is_git_local_variable(result.out.substr(start, end - start))) << result.out.substr(start, end - start);
  EXPECT_GT(count, 10U);
}

class Inputs : public ScratchTest {
 protected:
  [[nodiscard]] Input known(const std::string& path) const { return survey_input(scratch().root(), path).value(); }
  [[nodiscard]] InputState compare(const Input& input) const { return compare_input(scratch().root(), input).value(); }
};

TEST_F(Inputs, AreTheSameWhileNothingIsTouched) {
  write_text(at("f"), "text");
  EXPECT_EQ(compare(known("f")), InputState::same);
  EXPECT_EQ(known("f").digest, sha256("text"));
}

TEST_F(Inputs, AreTheSameWhenOnlyTheStatDiffers) {
  write_text(at("f"), "text");
  const Input input = known("f");
  test::delete_tree(at("f"));
  write_text(at("f"), "text");
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("f").c_str(), times, 0), 0);
  EXPECT_EQ(compare(input), InputState::same);
}

TEST_F(Inputs, AreChangedWhenTheContentDiffersAtTheSameSizeAndTime) {
  write_text(at("f"), "text");
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("f").c_str(), times, 0), 0);
  const Input input = known("f");
  write_text(at("f"), "tEXt");
  ASSERT_EQ(::utimensat(AT_FDCWD, at("f").c_str(), times, 0), 0);
  EXPECT_EQ(compare(input), InputState::changed);
}

TEST_F(Inputs, NoticeThatAFileAppearsOrVanishesOrBecomesADirectory) {
  const Input absent = known("f");
  EXPECT_EQ(absent.kind, InputKind::absent);
  EXPECT_EQ(compare(absent), InputState::same);
  write_text(at("f"), "");
  EXPECT_EQ(compare(absent), InputState::changed);
  const Input file = known("f");
  test::delete_tree(at("f"));
  EXPECT_EQ(compare(file), InputState::changed);
  make_dirs(at("f"));
  EXPECT_EQ(compare(file), InputState::changed);
}

TEST_F(Inputs, NoticeANewNameInADirectory) {
  write_text(at("d/a"), "");
  const Input input = known("d");
  EXPECT_EQ(compare(input), InputState::same);
  write_text(at("d/b"), "");
  EXPECT_EQ(compare(input), InputState::changed);
  test::delete_tree(at("d/b"));
  EXPECT_EQ(compare(input), InputState::same);
}

TEST_F(Inputs, FollowLinksAsNpmDoes) {
  write_text(at("target"), "text");
  ASSERT_EQ(::symlink("target", at("link").c_str()), 0);
  EXPECT_EQ(known("link").digest, sha256("text"));
  ASSERT_EQ(::symlink("nowhere", at("dangling").c_str()), 0);
  EXPECT_EQ(known("dangling").kind, InputKind::absent);
}

TEST_F(Inputs, RefuseAPipe) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(survey_input(scratch().root(), "pipe").has_value());
}

TEST_F(Inputs, AreReadBackFromTheirLine) {
  write_text(at("a b"), "text");
  for (const Input& input : {known("a b"), known("absent"), known("home")}) {
    LineWriter out("t", 1);
    write_input(out, "input", input);
    const auto lines = parse_lines(std::move(out).finish(), "t", 1, "f");
    const auto back = parse_input(lines.value().at(0));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->path, input.path);
    EXPECT_EQ(back->kind, input.kind);
    EXPECT_EQ(back->digest, input.digest);
    EXPECT_EQ(back->ino, input.ino);
    EXPECT_EQ(back->ctime_ns, input.ctime_ns);
  }
}

class TreeStateSurvey : public ScratchTest {
 protected:
  [[nodiscard]] TreeState state() const { return survey_tree(at("p")).value().state; }
  [[nodiscard]] static Record record(Layout layout) {
    Record out;
    out.install.text = std::string(64, 'a');
    out.store = "/s";
    out.layout = layout;
    out.node = {"/n", 1, 1, 1};
    out.npm = {"/m", 1, 1, 1};
    return out;
  }
};

TEST_F(TreeStateSurvey, CallsNothingAndAnEmptyDirectoryAbsent) {
  make_dirs(at("p"));
  EXPECT_EQ(state(), TreeState::absent);
  make_dirs(at("p/node_modules"));
  EXPECT_EQ(state(), TreeState::absent);
}

TEST_F(TreeStateSurvey, CallsATreeWithNeitherMarkerTheUsers) {
  write_text(at("p/node_modules/x"), "");
  EXPECT_EQ(state(), TreeState::unmarked);
  test::delete_tree(at("p/node_modules"));
  write_text(at("p/node_modules"), "a file");
  EXPECT_EQ(state(), TreeState::unmarked);
}

TEST_F(TreeStateSurvey, CallsADanglingMarkerAloneUnfinished) {
  make_dirs(at("p/node_modules"));
  ASSERT_EQ(::symlink(".pf/shared", at("p/node_modules/.pf-shared").c_str()), 0);
  EXPECT_EQ(state(), TreeState::unfinished);
}

TEST_F(TreeStateSurvey, CallsAnUnreadableRecordUnfinished) {
  write_text(at("p/node_modules/.worktree-provisioned"), "garbage");
  EXPECT_EQ(state(), TreeState::unfinished);
  ASSERT_EQ(::symlink(".pf/shared", at("p/node_modules/.pf-shared").c_str()), 0);
  EXPECT_EQ(state(), TreeState::unfinished);
}

TEST_F(TreeStateSurvey, CallsMarkerAndRecordLinked) {
  write_text(at("p/node_modules/.worktree-provisioned"), render_record(record(Layout::links)));
  EXPECT_EQ(state(), TreeState::unfinished);
  ASSERT_EQ(::symlink(".pf/shared", at("p/node_modules/.pf-shared").c_str()), 0);
  EXPECT_EQ(state(), TreeState::linked);
}

TEST_F(TreeStateSurvey, KnowsAPrivateCopy) {
  write_text(at("p/node_modules/.worktree-provisioned"), render_record(record(Layout::private_copy)));
  EXPECT_EQ(state(), TreeState::private_copy);
}

TEST_F(TreeStateSurvey, ReadsWhatAnInterruptedRelinkIntended) {
  write_text(at("p/node_modules/.pf/intent"), render_record(record(Layout::links)));
  ASSERT_EQ(::symlink(".pf/shared", at("p/node_modules/.pf-shared").c_str()), 0);
  const TreeSurvey survey = survey_tree(at("p")).value();
  EXPECT_EQ(survey.state, TreeState::unfinished);
  EXPECT_TRUE(survey.record.has_value());
}

}  // namespace
}  // namespace pfnm
