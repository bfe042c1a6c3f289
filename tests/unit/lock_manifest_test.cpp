#include "nmstore/lock/package_manifest.hpp"

#include <gtest/gtest.h>

namespace pfnm {
namespace {

using Words = std::vector<std::string>;

PackageManifest parsed(std::string_view text) {
  auto manifest = parse_package_manifest(text, "package.json");
  if (!manifest) {
    ADD_FAILURE() << manifest.error().message();
    return {};
  }
  return *std::move(manifest);
}

TEST(PackageManifest, ReadsTheFieldsAnInstallDependsOn) {
  const PackageManifest manifest = parsed(
      "\xEF\xBB\xBF"
      R"({"name": "@s/x", "version": "1.0.0", "bin": "./cli.js",
    "dependencies": {"b": "1", "a": "2", "b": "3"}, "devDependencies": {"d": "1"}, "workspaces": {"packages": ["p/*"]},
    "overrides": {"z": {"b": 1.5, "a": [true, null]}, "a": "\"\u00e9\n"}, "allowScripts": {}, "scripts": {"x": 1},
    "bundledDependencies": ["a"]})");
  EXPECT_EQ(manifest.name, "@s/x");
  EXPECT_EQ(manifest.version, "1.0.0");
  EXPECT_EQ(manifest.dependencies, (DependencyMap{{"b", "3"}, {"a", "2"}}));
  EXPECT_EQ(manifest.dev_dependencies, (DependencyMap{{"d", "1"}}));
  EXPECT_EQ(manifest.workspaces, Words{"p/*"});
  EXPECT_EQ(manifest.bin, (DependencyMap{{"x", "cli.js"}}));
  EXPECT_EQ(manifest.overrides, "{\"a\":\"\\\"\xC3\xA9\\u000a\",\"z\":{\"a\":[true,null],\"b\":1.5}}");
  EXPECT_EQ(manifest.allow_scripts, "");
  EXPECT_TRUE(manifest.scripts.empty());
  EXPECT_TRUE(manifest.has_bundle_dependencies);
}

TEST(PackageManifest, NormalisesBinsAsNpmDoes) {  // expectations: npm-normalize-package-bin
  const struct {
    const char* text;
    DependencyMap expected;
  } cases[] = {
      {R"({"bin": "a.js"})", {}},
      {R"({"name": "x", "bin": ""})", {}},
      {R"({"name": "x", "bin": "../../up.js"})", {{"x", "up.js"}}},
      {R"({"bin": {"..": "a", ".": "b", "": "c", "n": 1, "k": "../.."}})", {}},
      {R"({"bin": {"@s/q": "bin/q/", "w\\z": "a\\b", "c:d": "x/../y", "../../e": "/abs"}})",
       {{"q", "bin/q/"}, {"z", "a/b"}, {"d", "y"}, {"e", "abs"}}},
      {R"({"bin": ["./bin/a", "b.js"]})", {{"a", "bin/a"}, {"b.js", "b.js"}}},
      {R"({"bin": {"a/b": "1", "b": "2"}})", {{"b", "2"}}},
  };
  for (const auto& c : cases) EXPECT_EQ(parsed(c.text).bin, c.expected) << c.text;
}

TEST(PackageManifest, SaysWhyAFileIsNoManifest) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "the file is empty"},
      {"{", "not valid JSON"},
      {"3", "not a JSON object"},
      {"{\n<<<<<<< HEAD\n}", "git conflict markers (line 2)"},
  };
  for (const auto& c : cases) {
    for (const auto& error : {parse_package_manifest(c.first, "p/package.json").error(),
                              without_lifecycle_scripts(c.first, "p/package.json").error()}) {
      EXPECT_EQ(error.code, Errc::bad_input);
      EXPECT_EQ(error.path, "p/package.json");
      EXPECT_NE(error.reason.find(c.second), std::string::npos) << error.reason;
    }
  }
}

TEST(PackageManifest, LosesOnlyItsLifecycleScripts) {
  const auto text = without_lifecycle_scripts(
      "\xEF\xBB\xBF{\"z\": 1, \"scripts\": {\"test\": \"t\", \"postinstall\": \"x\", \"prepare\": \"y\", \"a\": \"b\","
      "\"postdependencies\": \"d\"}, \"a\": [1.5, \"\xC3\xA9\"]}",
      "package.json");
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text,
            "{\n  \"z\": 1,\n  \"scripts\": {\n    \"test\": \"t\",\n    \"a\": \"b\"\n  },\n  \"a\": [\n    1.5,\n    "
            "\"\xC3\xA9\"\n  ]\n}\n");
}

TEST(PackageManifest, ListsLifecycleScriptsInTheOrderTheyRun) {
  const auto scripts = lifecycle_scripts(parsed(
      R"({"scripts": {"prepare": "p", "test": "t", "install": "i", "preinstall": "q", "dependencies": "d",
          "postinstall": ""}})"));
  EXPECT_EQ(scripts, (DependencyMap{{"dependencies", "d"}, {"preinstall", "q"}, {"install", "i"}, {"prepare", "p"}}));
}

TEST(PatchPackage, IsFoundWhereAScriptCallsIt) {
  const struct {
    const char* script;
    std::optional<Words> expected;
  } cases[] = {
      {"patch-package", Words{}},
      {"husky && patch-package --patch-dir 'my patches'", Words{"--patch-dir", "my patches"}},
      {"NODE_ENV=x cross-env A=b npx --no-install patch-package --error-on-fail;true", Words{"--error-on-fail"}},
      {"npx -y -p patch-package@8 patch-package@8 -- lodash", Words{"lodash"}},
      {"npm exec -- patch-package", Words{}},
      {"yarn patch-package --reverse", Words{"--reverse"}},
      {"./node_modules/.bin/patch-package > /dev/null 2>&1 || true", Words{}},
      {"node node_modules/patch-package/index.js --use-yarn", Words{"--use-yarn"}},
      {"if [ -d patches ]; then patch-package; fi", Words{}},
      {"(cd . && \"patch-package\" $ARGS)", Words{"$ARGS"}},
      {"npm run -s fix", Words{"--from-fix"}},
      {"yarn fix", Words{"--from-fix"}},
      {"npm run loop", std::nullopt},
      {"postinstall-postinstall", std::nullopt},
      {"my-patch-package-x && patch-package-x", std::nullopt},
      {"echo patch-package", std::nullopt},
      {"true # patch-package", std::nullopt},
      {"echo '; patch-package'", std::nullopt},
      {"npm install patch-package", std::nullopt},
  };
  for (const auto& c : cases) {
    PackageManifest manifest;
    manifest.scripts = {{"fix", "patch-package --from-fix"}, {"loop", "npm run loop"}, {"postinstall", c.script}};
    EXPECT_EQ(find_patch_package_call(manifest), c.expected) << c.script;
  }
}

TEST(PatchPackage, DoesNotCountInAScriptThatNothingRuns) {
  EXPECT_EQ(find_patch_package_call(parsed(R"({"scripts": {"fix": "patch-package"}})")), std::nullopt);
}

}  // namespace
}  // namespace pfnm
