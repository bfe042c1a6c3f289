// A repository with the mini project in it, worktrees of it, and the program under test.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/mini_project.hpp"
#include "tests/support/scratch.hpp"

namespace pfnm::test {

using Json = nlohmann::json;

class GitFixture {
 public:
  GitFixture(const Scratch& scratch, std::string root);
  // A repository with the files of `source` committed.
  void start(const std::string& source);
  [[nodiscard]] std::string add_worktree(const std::string& name);  // beside the repository; returns its path
  [[nodiscard]] const std::string& root() const { return root_; }
  std::string git(const std::string& directory, const std::vector<std::string>& arguments) const;  // throws on failure
  [[nodiscard]] std::string status(const std::string& worktree) const;  // --porcelain, untracked too
  void commit_all(const std::string& worktree) const;

 private:
  const Scratch& scratch_;
  std::string root_;
};

// Every test of it starts with the first version of the mini project in a repository `repo` and one worktree `one`.
class ProjectTest : public ScratchTest {
 protected:
  enum class Tools { real, fake };
  explicit ProjectTest(Tools tools = Tools::fake);

  [[nodiscard]] RunSpec spec(const std::vector<std::string>& arguments, const std::string& directory,
                             const std::vector<std::string>& environment = {}) const;
  [[nodiscard]] RunResult pfnm(const std::vector<std::string>& arguments, const std::string& directory,
                               const std::vector<std::string>& environment = {}) const;
  // With --json; rc must be 0.
  [[nodiscard]] Json pfnm_json(std::vector<std::string> arguments, const std::string& directory,
                               const std::vector<std::string>& environment = {}) const;
  // Any other program with the same environment; its failure is the test's.
  [[nodiscard]] RunResult tool(const std::vector<std::string>& argv, const std::string& directory) const;
  [[nodiscard]] std::vector<std::string> environment() const;

  // Replaces package.json, lock and tarballs by those of another version.
  static void switch_to(const ProjectVersion& version, const std::string& worktree);
  // The only install's directory.
  [[nodiscard]] std::string install() const;
  [[nodiscard]] std::vector<std::string> installs() const;
  // What `version` as a links layout must be: every link leads where it must, packages resolve. Empty where it is.
  [[nodiscard]] static std::vector<std::string> layout_problems(const std::string& worktree,
                                                                const ProjectVersion& version);

  GitFixture repo_;
  std::string one_;
  FakeTools fake_;
  Tools tools_;
};

class RealNpmTest : public ProjectTest {
 protected:
  RealNpmTest() : ProjectTest(Tools::real) {}
};

}  // namespace pfnm::test
