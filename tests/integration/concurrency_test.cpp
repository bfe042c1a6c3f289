// Many processes at once: one build, and nothing half done in anybody's eyes.
#include <gmock/gmock.h>

#include "tests/support/project_fixture.hpp"

namespace pfnm::test {
namespace {

using ::testing::IsEmpty;

class Concurrency : public ProjectTest {
 protected:
  [[nodiscard]] std::vector<RunResult> run_all(const std::vector<RunSpec>& specs) const {
    std::vector<Running> running;
    running.reserve(specs.size());
    for (const RunSpec& one : specs) running.emplace_back(one);
    std::vector<RunResult> results;
    for (Running& process : running) results.push_back(process.wait());
    return results;
  }
};

TEST_F(Concurrency, SixteenWorktreesWithTheSameNewKeyNeedOneBuild) {
  std::vector<std::string> worktrees;
  std::vector<RunSpec> specs;
  for (int i = 0; i < 16; ++i) worktrees.push_back(repo_.add_worktree("tree-" + std::to_string(i)));
  for (const std::string& worktree : worktrees) specs.push_back(spec({"link", "--json"}, worktree));
  std::size_t built = 0;
  for (const RunResult& result : run_all(specs)) {
    EXPECT_EQ(result.rc, 0) << result.all();
    if (Json::parse(result.out, nullptr, false).value("action", "") == "built") ++built;
  }
  EXPECT_EQ(fake_.builds(), 1U);
  EXPECT_EQ(built, 1U);
  for (const std::string& worktree : worktrees) {
    EXPECT_THAT(layout_problems(worktree, mini_project().first), IsEmpty()) << worktree;
    EXPECT_EQ(pfnm_json({"link"}, worktree)["action"], "unchanged") << worktree;
  }
}

TEST_F(Concurrency, SixteenLinksOfOneWorktreeLeaveOneGoodLayout) {
  const std::vector<RunSpec> specs(16, spec({"link", "--json"}, one_));
  std::size_t laid_out = 0;
  for (const RunResult& result : run_all(specs)) {
    EXPECT_EQ(result.rc, 0) << result.all();
    const std::string action = Json::parse(result.out, nullptr, false).value("action", "");
    if (action != "unchanged") ++laid_out;
  }
  EXPECT_EQ(laid_out, 1U);
  EXPECT_EQ(fake_.builds(), 1U);
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
}

TEST_F(Concurrency, LinksAndPrivatesOfOneWorktreeEndInAWholeTree) {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);
  std::vector<RunSpec> specs;
  for (int i = 0; i < 8; ++i) {
    specs.push_back(spec({"link"}, one_));
    specs.push_back(spec({"private"}, one_));
  }
  for (const RunResult& result : run_all(specs)) EXPECT_EQ(result.rc, 0) << result.all();
  EXPECT_EQ(pfnm_json({"status"}, one_)["layout"], "private");
  EXPECT_EQ(read_text(one_ + "/node_modules/plain-a/index.js"),
            read_text(mini_project().first.plain + "/node_modules/plain-a/index.js"));
}

TEST_F(Concurrency, TwoKeysAreBuiltAtTheSameTime) {
  const std::string two = repo_.add_worktree("two");
  switch_to(mini_project().second, two);
  std::vector<RunSpec> specs;
  for (int i = 0; i < 4; ++i) {
    specs.push_back(spec({"link"}, one_));
    specs.push_back(spec({"link"}, two));
  }
  for (const RunResult& result : run_all(specs)) EXPECT_EQ(result.rc, 0) << result.all();
  EXPECT_EQ(fake_.builds(), 2U);
  EXPECT_THAT(layout_problems(one_, mini_project().first), IsEmpty());
  EXPECT_THAT(layout_problems(two, mini_project().second), IsEmpty());
}

TEST_F(Concurrency, AFailingBuildFailsForEverybodyAndLeavesNothing) {
  fake_.fail_with("npm error code EUSAGE\n");
  const std::vector<RunSpec> specs(4, spec({"link"}, one_));
  for (const RunResult& result : run_all(specs)) EXPECT_EQ(result.rc, 1) << result.all();
  EXPECT_THAT(installs(), IsEmpty());
  EXPECT_FALSE(exists(one_ + "/node_modules"));
}

}  // namespace
}  // namespace pfnm::test
