#include "tests/support/project_fixture.hpp"

#include <stdexcept>

namespace pfnm::test {

GitFixture::GitFixture(const Scratch& scratch, std::string root) : scratch_(scratch), root_(std::move(root)) {}

std::string GitFixture::git(const std::string& directory, const std::vector<std::string>& arguments) const {
  std::vector<std::string> argv{"git"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const RunResult result = run({argv, scratch_.environment(), directory});
  if (result.rc != 0) throw std::runtime_error("git " + arguments.at(0) + ": " + result.all());
  return result.out;
}

void GitFixture::start(const std::string& source) {
  copy_tree(source, root_);
  git(root_, {"init", "-q"});
  commit_all(root_);
}

void GitFixture::commit_all(const std::string& worktree) const {
  git(worktree, {"add", "-A"});
  git(worktree, {"commit", "-q", "-m", "state"});
}

std::string GitFixture::add_worktree(const std::string& name) {
  std::string path = scratch_.path("trees/" + name);
  git(root_, {"worktree", "add", "-q", "-b", name, path});
  return path;
}

std::string GitFixture::status(const std::string& worktree) const {
  return git(worktree, {"status", "--porcelain", "--untracked-files=all"});
}

ProjectTest::ProjectTest(Tools tools)
    : repo_(scratch(), at("repo")), fake_(at("fake")), tools_(tools) {
  repo_.start(mini_project().first.source);
  one_ = repo_.add_worktree("one");
}

std::vector<std::string> ProjectTest::environment() const {
  auto environment = scratch().environment();
  if (tools_ == Tools::fake) environment = with_environment(environment, {"PATH=" + fake_.path()});
  return environment;
}

RunSpec ProjectTest::spec(const std::vector<std::string>& arguments, const std::string& directory,
                          const std::vector<std::string>& changes) const {
  std::vector<std::string> argv{process_scratch().front};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return {argv, with_environment(environment(), changes), directory};
}

RunResult ProjectTest::pfnm(const std::vector<std::string>& arguments, const std::string& directory,
                            const std::vector<std::string>& changes) const {
  const RunResult result = run(spec(arguments, directory, changes));
  EXPECT_FALSE(result.timed_out);
  return result;
}

Json ProjectTest::pfnm_json(std::vector<std::string> arguments, const std::string& directory,
                            const std::vector<std::string>& changes) const {
  arguments.emplace_back("--json");
  const RunResult result = pfnm(arguments, directory, changes);
  EXPECT_EQ(result.rc, 0) << result.all();
  Json json = Json::parse(result.out, nullptr, false);
  EXPECT_TRUE(json.is_object()) << result.all();
  return json.is_object() ? json : Json::object();
}

RunResult ProjectTest::tool(const std::vector<std::string>& argv, const std::string& directory) const {
  return run({argv, environment(), directory});
}

void ProjectTest::switch_to(const ProjectVersion& version, const std::string& worktree) {
  for (const char* name : {"package.json", "package-lock.json"})
    write_text(worktree + "/" + name, read_text(version.source + "/" + name));
}

std::vector<std::string> ProjectTest::installs() const {
  std::vector<std::string> paths;
  for (const std::string& name : names_in(scratch().store()))
    if (name != ".pf") paths.push_back(scratch().store() + "/" + name);
  return paths;
}

std::string ProjectTest::install() const {
  const auto all = installs();
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? std::string() : all.front();
}

namespace {

bool is_directory(const std::string& path) { return !names_in(path).empty() && link_text(path).empty(); }

// Top-level packages of one node_modules, scopes opened.
std::vector<std::string> package_names(const std::string& modules) {
  std::vector<std::string> names;
  for (const std::string& name : names_in(modules)) {
    if (name.front() == '.') continue;
    if (name.front() != '@') {
      names.push_back(name);
      continue;
    }
    for (const std::string& below : names_in(modules + "/" + name)) names.push_back(name + "/" + below);
  }
  return names;
}

void check_container(const std::string& worktree, const std::string& plain, const std::string& container,
                     std::vector<std::string>& problems) {
  const std::string here = worktree + "/" + container;
  const std::string there = plain + "/" + container;
  const auto wanted = package_names(there);
  const auto have = package_names(here);
  if (wanted != have) problems.push_back("names in " + container + ": " + Json(have).dump() + " for " + Json(wanted).dump());
  for (const std::string& name : wanted) {
    const std::string mine = here + "/" + name;
    const std::string want = there + "/" + name;
    const bool workspace = !link_text(want).empty();
    const bool copied = name == "needs-ws";
    if (workspace && link_text(mine) != link_text(want)) problems.push_back(container + "/" + name + " is no workspace link");
    if (copied && !is_directory(mine)) problems.push_back(container + "/" + name + " is no copy");
    if (!workspace && !copied && link_text(mine).find(".pf/shared/" + container + "/" + name) == std::string::npos)
      problems.push_back(container + "/" + name + " does not lead through the hop: " + link_text(mine));
    if (read_text(mine + "/package.json") != read_text(want + "/package.json"))
      problems.push_back(container + "/" + name + " is not what npm installs");
    if (read_text(mine + "/index.js") != read_text(want + "/index.js"))
      problems.push_back(container + "/" + name + " has other contents");
  }
}

}  // namespace

std::vector<std::string> ProjectTest::layout_problems(const std::string& worktree, const ProjectVersion& version) {
  std::vector<std::string> problems;
  const std::string modules = worktree + "/node_modules";
  if (link_text(modules + "/.pf-shared") != ".pf/shared") problems.emplace_back("no marker");
  if (!exists(modules + "/.worktree-provisioned")) problems.emplace_back("no record");
  if (exists(modules + "/.pf/intent")) problems.emplace_back("an intent is left");
  check_container(worktree, version.plain, "node_modules", problems);
  check_container(worktree, version.plain, "packages/a/node_modules", problems);
  for (const std::string& name : names_in(version.plain + "/node_modules/.bin"))
    if (read_text(modules + "/.bin/" + name).empty()) problems.push_back(".bin/" + name + " leads nowhere");
  for (const std::string& name : names_in(modules + "/.bin"))
    if (!exists(version.plain + "/node_modules/.bin/" + name)) problems.push_back(".bin/" + name + " is left over");
  if (read_text(modules + "/.package-lock.json").find(".pf/shared") == std::string::npos)
    problems.emplace_back("no layout lock");
  for (const char* name : {".cache", ".vite", ".vite-temp", ".vitest", ".vitest-cache", ".tmp"})
    if (!exists(modules + "/" + name) || !link_text(modules + "/" + name).empty())
      problems.push_back(std::string(name) + " is no real directory");
  for (const std::string& name : names_in(worktree))
    if (name.starts_with(".pfnm-")) problems.push_back("left in the worktree: " + name);
  for (const std::string& name : names_in(modules + "/.pf"))
    if (name != "shared") problems.push_back("left in .pf: " + name);
  return problems;
}

}  // namespace pfnm::test
