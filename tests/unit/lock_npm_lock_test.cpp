#include "nmstore/lock/npm_lock.hpp"

#include <gtest/gtest.h>

#include <string>

#include "nmstore/lock/closure.hpp"

namespace pfnm {
namespace {

std::string v3(const std::string& packages) { return R"({"lockfileVersion": 3, "packages": {)" + packages + "}}"; }

NpmLock parsed(const std::string& text) {
  auto lock = parse_npm_lock(text, "package-lock.json");
  if (!lock) {
    ADD_FAILURE() << lock.error().message();
    return {};
  }
  return *std::move(lock);
}

TEST(NpmLock, ReadsEveryFieldOfAnEntry) {
  const NpmLock lock = parsed(v3(R"("": {"name": "app", "workspaces": {"packages": ["packages/*"]},
      "devDependencies": {"x": "1"}},
    "node_modules/@s/x": {"version": "1.2.3", "resolved": "https://r.example/x.tgz", "integrity": "sha512-aa==",
      "optional": true, "devOptional": true, "peer": true, "dev": true, "inBundle": true, "hasInstallScript": true,
      "hasShrinkwrap": true, "os": ["linux"], "cpu": "x64", "libc": ["glibc"], "engines": {"npm": "1", "node": ">=18"},
      "dependencies": {"b": "1", "a": "2"}, "optionalDependencies": {"o": "3"},
      "peerDependencies": {"p": "4", "q": "5"}, "peerDependenciesMeta": {"q": {"optional": true}, "p": {}},
      "bin": {"x": "./cli.js"}, "bundleDependencies": ["a"], "license": "MIT"})"));
  ASSERT_EQ(lock.entries.size(), 2U);
  EXPECT_EQ(lock.lockfile_version, 3);
  ASSERT_NE(lock.root(), nullptr);
  EXPECT_EQ(lock.root()->name, "app");
  EXPECT_EQ(lock.root()->kind, EntryKind::root);
  EXPECT_EQ(lock.root()->workspaces, std::vector<std::string>{"packages/*"});
  const LockEntry& entry = lock.entries[1];
  EXPECT_EQ(entry.kind, EntryKind::package);
  EXPECT_EQ(entry.name, "@s/x");
  EXPECT_EQ(entry.version, "1.2.3");
  EXPECT_EQ(entry.resolved, "https://r.example/x.tgz");
  EXPECT_EQ(entry.integrity, "sha512-aa==");
  EXPECT_TRUE(entry.optional && entry.dev_optional && entry.peer && entry.dev && entry.in_bundle);
  EXPECT_TRUE(entry.has_install_script && entry.has_shrinkwrap);
  EXPECT_EQ(entry.os, std::vector<std::string>{"linux"});
  EXPECT_EQ(entry.cpu, std::vector<std::string>{"x64"});
  EXPECT_EQ(entry.libc, std::vector<std::string>{"glibc"});
  EXPECT_EQ(entry.engines_node, ">=18");
  EXPECT_EQ(entry.dependencies, (DependencyMap{{"b", "1"}, {"a", "2"}}));
  EXPECT_EQ(entry.optional_dependencies, (DependencyMap{{"o", "3"}}));
  EXPECT_EQ(entry.peer_dependencies, (DependencyMap{{"p", "4"}, {"q", "5"}}));
  EXPECT_EQ(entry.optional_peers, std::vector<std::string>{"q"});
  EXPECT_EQ(entry.bin, (DependencyMap{{"x", "cli.js"}}));
  EXPECT_EQ(entry.bundle_dependencies, std::vector<std::string>{"a"});
}

TEST(NpmLock, AnEnginesArrayLimitsNothing) {
  EXPECT_EQ(parsed(v3(R"("node_modules/x": {"engines": ["node >= 6"]})")).entries[0].engines_node, "");
}

TEST(NpmLock, ToleratesAByteOrderMarkAndCrLf) {
  EXPECT_EQ(parsed("\xEF\xBB\xBF{\r\n\"lockfileVersion\": 2,\r\n\"packages\": {\"\": {}}}\r\n").lockfile_version, 2);
}

TEST(NpmLock, TellsWorkspacesPackagesAndLinksApart) {
  const NpmLock lock = parsed(v3(R"("": {}, "packages/a": {"version": "1.0.0"},
    "node_modules/a": {"resolved": "./packages/a/", "link": true}, "packages/a/node_modules/b": {"version": "2.0.0"},
    "node_modules/self": {"resolved": "", "link": true})"));
  EXPECT_EQ(lock.find("packages/a")->kind, EntryKind::workspace);
  EXPECT_EQ(lock.find("node_modules/a")->kind, EntryKind::link);
  EXPECT_EQ(lock.find("node_modules/a")->resolved, "packages/a");
  EXPECT_EQ(lock.find("packages/a/node_modules/b")->kind, EntryKind::package);
  EXPECT_EQ(link_target(lock, *lock.find("node_modules/self")), lock.root());
  EXPECT_EQ(lock.find("node_modules/none"), nullptr);
}

TEST(NpmLock, CountsTheNestedTreeOfVersionOne) {
  const NpmLock lock = parsed(R"({"lockfileVersion": 1, "dependencies": {"a": {"version": "1",
    "dependencies": {"@s/b": {"version": "2"}}}, "c": {"version": "file:packages/c"}}})");
  EXPECT_TRUE(lock.entries.empty());
  EXPECT_EQ(lock.ancient_package_count, 3U);
}

struct Refusal {
  const char* why;
  std::string text;
  const char* reason;
};

void expect_refused(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    const auto lock = parse_npm_lock(refusal.text, "package-lock.json");
    ASSERT_FALSE(lock.has_value()) << refusal.why;
    EXPECT_EQ(lock.error().code, Errc::bad_input) << refusal.why;
    EXPECT_EQ(lock.error().path, "package-lock.json") << refusal.why;
    EXPECT_NE(lock.error().reason.find(refusal.reason), std::string::npos)
        << refusal.why << ": " << lock.error().reason;
  }
}

TEST(NpmLock, RefusesAFileThatIsNoLockAndSaysWhy) {
  expect_refused({
      {"empty", " \r\n", "the file is empty"},
      {"not JSON", "{\"a\": }", "not valid JSON"},
      {"conflict", "{\n\"a\": 1,\n<<<<<<< HEAD\n\"b\": 1\n=======\n>>>>>>> x\n}", "git conflict markers (line 3)"},
      {"array", "[]", "not a JSON object"},
      {"no version", R"({"packages": {}})", "lockfileVersion is missing"},
      {"version 4", R"({"lockfileVersion": 4, "packages": {}})", "lockfileVersion 4 is not supported"},
      {"version text", R"({"lockfileVersion": "3", "packages": {}})", "lockfileVersion \"3\" is not supported"},
      {"no packages", R"({"lockfileVersion": 3})", "no \"packages\" object"},
      {"top twice", R"({"lockfileVersion": 3, "packages": {}, "packages": {}})", "the key \"packages\" is there twice"},
  });
}

TEST(NpmLock, RefusesAnEntryThatCannotBeUsedAndNamesIt) {
  expect_refused({
      {"twice", v3(R"("node_modules/x": {}, "node_modules/x": {})"), "entry \"node_modules/x\" is there twice"},
      {"field twice", v3(R"("node_modules/x": {"version": "1", "version": "2"})"), "has the key \"version\" twice"},
      {"dependency twice", v3(R"("node_modules/x": {"dependencies": {"a": "1", "a": "2"}})"),
       "has \"a\" twice in \"dependencies\""},
      {"not an object", v3(R"("node_modules/x": 1)"), "entry \"node_modules/x\" is not an object"},
      {"wrong text", v3(R"("node_modules/x": {"resolved": true})"), "has a \"resolved\" that is not a string"},
      {"wrong flag", v3(R"("node_modules/x": {"optional": "yes"})"), "has a \"optional\" that is not true or false"},
      {"wrong link", v3(R"("node_modules/x": {"link": 1})"), "has a \"link\" that is not true or false"},
      {"wrong map", v3(R"("node_modules/x": {"dependencies": []})"), "has \"dependencies\" that are not an object"},
      {"absolute", v3(R"("/etc": {})"), "entry \"/etc\" is an absolute path"},
      {"drive", v3(R"("C:/x": {})"), "is an absolute path"},
      {"outside", v3(R"("../x": {})"), "entry \"../x\" leaves the project"},
      {"outside later", v3(R"("a/../../x": {})"), "leaves the project"},
      {"dot", v3(R"("./a": {})"), "has a \".\" component"},
      {"empty part", v3(R"("a//b": {})"), "has an empty path component"},
      {"trailing", v3(R"("a/": {})"), "has an empty path component"},
      {"backslash", v3(R"("a\\b": {})"), "has a backslash"},
      {"NUL", v3(R"("a\u0000b": {})"), "has a NUL byte"},
      {"git", v3(R"("a/.GIT/hooks": {})"), "is inside .git"},
      {"no name", v3(R"("a/node_modules": {})"), "names no package"},
      {"no name in scope", v3(R"("node_modules/@s": {})"), "a scope without a package"},
      {"dot name", v3(R"("node_modules/.bin": {})"), "starts with a dot"},
      {"link outside", v3(R"("node_modules/x": {"resolved": "../x", "link": true})"), "which leaves the project"},
      {"absolute link", v3(R"("node_modules/x": {"resolved": "/x", "link": true})"), "which leaves the project"},
      {"missing target", v3(R"("node_modules/x": {"resolved": "x", "link": true})"), "target \"x\" is missing"},
      {"no target", v3(R"("node_modules/x": {"link": true})"), "is a link that names no target"},
      {"link to link", v3(R"("": {}, "node_modules/x": {"resolved": "", "link": true},
          "node_modules/y": {"resolved": "node_modules/x", "link": true})"),
       "is a link to the link"},
      {"link as workspace", v3(R"("": {}, "a": {"resolved": "", "link": true})"), "is a link outside node_modules"},
      {"tarball outside", v3(R"("node_modules/x": {"resolved": "file:../x.tgz"})"), "which leaves the project"},
  });
}

TEST(NpmLock, RefusesABadNestedTreeOfVersionOne) {
  const auto v1 = [](const std::string& tree) { return R"({"lockfileVersion": 1, "dependencies": )" + tree + "}"; };
  expect_refused({
      {"list", v1("[]"), "\"dependencies\" that are not an object"},
      {"no object", v1(R"({"a": {"dependencies": {"b": 1}}})"), "node_modules/a/node_modules/b\" is not an object"},
      {"twice", v1(R"({"a": {}, "a": {}})"), "has the dependency \"a\" twice"},
      {"field twice", v1(R"({"a": {"version": "1", "version": "1"}})"), "has the key \"version\" twice"},
      {"outside", v1(R"({"../a": {}})"), "leaves the project"},
      {"file outside", v1(R"({"a": {"version": "file:../a"}})"), "which leaves the project"},
  });
}

const char* const k_graph = R"("": {"dependencies": {"a": "1"}}, "packages/w": {"dependencies": {"deep": "1"}},
  "node_modules/w": {"resolved": "packages/w", "link": true},
  "node_modules/plugin": {"peerDependencies": {"w": "1"}, "peerDependenciesMeta": {"w": {"optional": true}}},
  "node_modules/a": {"dependencies": {"b": "1"}}, "node_modules/b": {"optionalDependencies": {"plugin": "1"},
  "dependencies": {"a": "1", "missing": "1"}}, "node_modules/deep": {}, "node_modules/host": {},
  "node_modules/host/node_modules/nested": {"dependencies": {"w": "1"}}, "node_modules/alone": {},
  "packages/w/node_modules/own": {"dependencies": {"deep": "1"}})";

TEST(ResolveDependency, WalksUpAsNodeDoes) {
  const NpmLock lock = parsed(v3(k_graph));
  EXPECT_EQ(resolve_dependency(lock, "", "a"), lock.find("node_modules/a"));
  EXPECT_EQ(resolve_dependency(lock, "packages/w", "own"), lock.find("packages/w/node_modules/own"));
  EXPECT_EQ(resolve_dependency(lock, "node_modules/w", "own"), lock.find("packages/w/node_modules/own"));
  EXPECT_EQ(resolve_dependency(lock, "packages/w/node_modules/own", "deep"), lock.find("node_modules/deep"));
  EXPECT_EQ(resolve_dependency(lock, "node_modules/host/node_modules/nested", "w"), lock.find("node_modules/w"));
  EXPECT_EQ(resolve_dependency(lock, "", "own"), nullptr);
}

TEST(Closure, FindsThePackagesThatReachAWorkspaceThroughCyclesAndOptionalPeers) {
  EXPECT_EQ(packages_reaching_workspaces(parsed(v3(k_graph))),
            (std::vector<std::string>{"node_modules/a", "node_modules/b", "node_modules/host",
                                      "node_modules/host/node_modules/nested", "node_modules/plugin"}));
}

TEST(Closure, IsEmptyWithoutLinks) {
  EXPECT_TRUE(
      packages_reaching_workspaces(parsed(v3(R"("": {}, "node_modules/a": {"dependencies": {"a": "1"}})"))).empty());
}

TEST(Closure, ReversesFromAPackageThroughWorkspaces) {
  EXPECT_EQ(packages_reaching(parsed(v3(k_graph)), {"node_modules/deep", "node_modules/unknown"}),
            (std::vector<std::string>{"node_modules/a", "node_modules/b", "node_modules/deep", "node_modules/host",
                                      "node_modules/host/node_modules/nested", "node_modules/plugin",
                                      "packages/w/node_modules/own"}));
  EXPECT_EQ(packages_reaching(parsed(v3(k_graph)), {"node_modules/alone"}),
            std::vector<std::string>{"node_modules/alone"});
}

}  // namespace
}  // namespace pfnm
