#include "nmstore/lock/lock_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pfnm {
namespace {

NpmLock lock_of(const std::string& packages) {
  auto lock = parse_npm_lock(R"({"lockfileVersion": 3, "packages": {)" + packages + "}}", "package-lock.json");
  if (!lock) {
    ADD_FAILURE() << lock.error().message();
    return {};
  }
  return *std::move(lock);
}

KeyInputs inputs_for(const NpmLock& lock) {
  return KeyInputs{lock, sha256("lock"), {"20.20.2", "115", "linux", "x64", "glibc", "11.19.1"}, {}, {}, {}, {}, {}};
}

std::string suffix(const KeyInputs& inputs) {
  const KeyReport report = compute_key(inputs);
  EXPECT_TRUE(is_lock_key(report.key.text)) << report.key.text;
  EXPECT_EQ(report.key.text.substr(0, 64), inputs.lock_digest.to_hex());
  return report.key.text.substr(64);
}

constexpr std::string_view k_platform = "-linux-x64-glibc-abi115";

TEST(LockKey, IsTheDigestOfTheLockWhenNothingElseMatters) {
  const NpmLock lock = lock_of(R"("": {}, "node_modules/a": {"engines": {"node": ">=99"}})");
  EXPECT_EQ(suffix(inputs_for(lock)), "");
  EXPECT_EQ(compute_key(inputs_for(lock)).items.size(), 1U);
}

TEST(LockKey, NamesThePlatformWhenAnEntryDependsOnIt) {
  for (const char* entry : {R"({"hasInstallScript": true})", R"({"os": ["linux"]})", R"({"cpu": ["x64"]})",
                            R"({"libc": ["glibc"]})", R"({"optional": true, "engines": {"node": ">=18"}})"}) {
    const NpmLock lock = lock_of(std::string(R"("": {}, "node_modules/a": )") + entry);
    EXPECT_EQ(suffix(inputs_for(lock)), k_platform) << entry;
  }
  const NpmLock lock = lock_of(R"("": {}, "node_modules/a": {"os": ["darwin"]})");
  KeyInputs inputs = inputs_for(lock);
  inputs.toolchain.libc = "";
  EXPECT_EQ(suffix(inputs), "-linux-x64-abi115");
}

TEST(LockKey, AlwaysNamesThePlatformForVersionOne) {
  const auto lock = parse_npm_lock(R"({"lockfileVersion": 1})", "package-lock.json");
  ASSERT_TRUE(lock.has_value());
  EXPECT_EQ(suffix(inputs_for(*lock)).substr(0, k_platform.size()), k_platform);
}

TEST(LockKey, ChangesWithEverythingThatChangesTheTree) {
  const NpmLock lock = lock_of(R"("": {"dependencies": {"a": "1"}}, "p/w": {"version": "1.0.0"},
    "node_modules/w": {"resolved": "p/w", "link": true})");
  KeyInputs plain = inputs_for(lock);
  plain.root.dependencies = {{"a", "1"}};
  plain.workspaces = {{"p/w", PackageManifest{}}};
  EXPECT_EQ(suffix(plain), "");
  std::vector<KeyInputs> variants;
  const auto vary = [&](auto change) {
    variants.push_back(plain);
    change(variants.back());
  };
  vary([](KeyInputs& in) { in.toolchain.npm_version = "10.8.2"; });
  vary([](KeyInputs& in) { in.toolchain.npm_version = "12.2.2"; });
  vary([](KeyInputs& in) { in.config.differing = {{"legacy-peer-deps", "true"}}; });
  vary([](KeyInputs& in) { in.root.allow_scripts = "{\"a\":true}"; });
  vary([](KeyInputs& in) { in.root.overrides = "{\"a\":\"1\"}"; });
  vary([](KeyInputs& in) { in.patches = sha256("patch"); });
  vary([](KeyInputs& in) { in.file_sources = {{"x.tgz", sha256("x")}}; });
  vary([](KeyInputs& in) { in.root.dependencies = {{"a", "2"}}; });
  vary([](KeyInputs& in) { in.root.dev_dependencies = {{"b", "1"}}; });
  vary([](KeyInputs& in) { in.root.peer_dependencies = {{"b", "1"}}; });
  vary([](KeyInputs& in) { in.root.optional_dependencies = {{"a", "1"}}; });
  vary([](KeyInputs& in) { in.root.workspaces = {"p/*"}; });
  vary([](KeyInputs& in) { in.workspaces.clear(); });
  vary([](KeyInputs& in) { in.workspaces[0].second.bin = {{"w", "cli.js"}}; });
  vary([](KeyInputs& in) { in.workspaces[0].second.name = "renamed"; });
  vary([](KeyInputs& in) { in.workspaces.emplace_back("p/new", PackageManifest{}); });
  std::vector<std::string> texts;
  std::vector<Digest> fingerprints;
  for (const KeyInputs& variant : variants) {
    texts.push_back(suffix(variant));
    fingerprints.push_back(compute_key(variant).fingerprint);
    EXPECT_EQ(texts.back().substr(0, 2), "-x") << texts.size();
    EXPECT_EQ(std::count(texts.begin(), texts.end(), texts.back()), 1) << texts.size();
    EXPECT_EQ(std::count(fingerprints.begin(), fingerprints.end(), fingerprints.back()), 1) << texts.size();
  }
}

TEST(LockKey, IgnoresOrderAndOptionalDependenciesRepeatedAsDependencies) {
  const NpmLock lock = lock_of(R"("": {"dependencies": {"a": "1", "b": "2"}, "optionalDependencies": {"o": "1"}})");
  KeyInputs inputs = inputs_for(lock);
  inputs.root.dependencies = {{"o", "1"}, {"b", "2"}, {"a", "1"}};
  inputs.root.optional_dependencies = {{"o", "1"}};
  EXPECT_EQ(suffix(inputs), "");
  inputs.file_sources = {{"x", sha256("x")}, {"y", sha256("y")}};
  const std::string before = suffix(inputs);
  std::swap(inputs.file_sources[0], inputs.file_sources[1]);
  EXPECT_EQ(suffix(inputs), before);
}

TEST(LockKey, DependsOnNodeOnlyWhereItLeavesAnOptionalPackageOut) {
  const NpmLock lock = lock_of(R"("": {}, "node_modules/a": {"optional": true, "engines": {"node": ">=22"}})");
  KeyInputs inputs = inputs_for(lock);
  inputs.toolchain.node_version = "22.1.0";
  EXPECT_EQ(suffix(inputs), k_platform);
  inputs.toolchain.node_version = "20.20.2";
  EXPECT_EQ(suffix(inputs).substr(0, k_platform.size() + 2), std::string(k_platform) + "-x");
}

TEST(LockKey, IsRecognisedByItsGrammar) {
  const std::string hex = sha256("x").to_hex();
  for (const char* good :
       {"", "-linux-x64-abi115", "-linux-x64-glibc-abi115", "-darwin-arm64-abi1-x0123abcd", "-x0123abcd"})
    EXPECT_TRUE(is_lock_key(hex + good)) << good;
  for (const char* bad : {"-", "x", "-linux", "-linux-x64", "-linux-x64-abi", "-linux-x64-abi1a", "-linux-x64-bsd-abi1",
                          "-x0123abc", "-x0123abcg", "-X0123abcd", "-x0123abcd-linux-x64-abi1", "-linux--abi1",
                          "-x0123abcd-x0123abcd", "-linux-x64-abi115-", "-linux/-x64-abi1", "-..-x64-abi1"})
    EXPECT_FALSE(is_lock_key(hex + bad)) << bad;
  EXPECT_FALSE(is_lock_key(hex.substr(1)));
  EXPECT_FALSE(is_lock_key("A" + hex.substr(1)));
}

TEST(NpmClass, GoesByTheMajorVersion) {
  EXPECT_EQ(npm_class("9.1.0"), NpmClass::npm10);
  EXPECT_EQ(npm_class("10.8.2"), NpmClass::npm10);
  EXPECT_EQ(npm_class("11.19.1"), NpmClass::npm11);
  EXPECT_EQ(npm_class("v12.2.2"), NpmClass::npm12);
  EXPECT_EQ(npm_class("13.0.0"), NpmClass::npm12);
}

TEST(LockSources, ListsLocalTarballsDirectoriesAndWorkspaces) {
  const NpmLock lock = lock_of(R"("": {}, "p/w": {}, "node_modules/w": {"resolved": "p/w", "link": true},
    "node_modules/t": {"resolved": "file:./vendor/t%231.tgz"}, "node_modules/u": {"resolved": "file:vendor/t%231.tgz"},
    "node_modules/d": {"resolved": "file:libs/d"}, "node_modules/b": {"inBundle": true})");
  EXPECT_EQ(local_tarballs(lock), std::vector<std::string>{"vendor/t#1.tgz"});
  EXPECT_EQ(install_links_directories(lock), std::vector<std::string>{"libs/d"});
  EXPECT_EQ(workspace_directories(lock), std::vector<std::string>{"p/w"});
  EXPECT_EQ(estimated_bytes(lock), 3U * 768U * 1024U);
}

}  // namespace
}  // namespace pfnm
