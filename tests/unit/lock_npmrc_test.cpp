// The readings of parse_npmrc were compared with npm's own `ini` and `@npmcli/config`.
#include "nmstore/lock/npmrc.hpp"

#include <gtest/gtest.h>

namespace pfnm {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::optional<std::string> lookup(std::string_view name) {
  if (name == "TOK") return "t";
  return std::nullopt;
}

Pairs read(std::string_view text) {
  Pairs pairs;
  for (const NpmrcEntry& entry : parse_npmrc(text, lookup)) pairs.emplace_back(entry.key, entry.value);
  return pairs;
}

TreeConfig config(std::string_view text) { return tree_changing_config({parse_npmrc(text, lookup)}); }

TEST(Npmrc, ReadsLinesAsNpmDoes) {
  const struct {
    const char* line;
    Pairs expected;
  } cases[] = {
      {"\xEF\xBB\xBF"
       "a = b ; c\r\n",
       {{"a", "b"}}},
      {"; x\n# y\n  # z\n\n", {}},
      {"flag", {{"flag", "true"}}},
      {"empty=", {{"empty", ""}}},
      {"q=\"a b\"", {{"q", "a b"}}},
      {"q='x y'", {{"q", "x y"}}},
      {"q='\"d\"'", {{"q", "d"}}},
      {"q=\"a\\d\"", {{"q", "\"a\\d\""}}},
      {"q='", {{"q", ""}}},
      {"q=\"\\u00e9\"", {{"q", "\xC3\xA9"}}},
      {"e=a\\;b\\#c\\\\d\\e", {{"e", "a;b#c\\d\\e"}}},
      {"h=a#b", {{"h", "a"}}},
      {"l[]=1\nl[]=2", {{"l[]", "1"}, {"l[]", "2"}}},
      {"=x", {}},
      {"k=a=b", {{"k", "a=b"}}},
      {"a=1\n[section]\nb=2", {{"a", "1"}}},
      {"${TOK}k=${TOK}", {{"tk", "t"}}},
      {"o=${NO?}\nu=${NO}", {{"o", ""}, {"u", "${NO}"}}},
      {"e=\\${TOK}\nf=\\\\\\\\${TOK}", {{"e", "${TOK}"}, {"f", "\\t"}}},
      {"d=${TOK:-x}", {{"d", "${TOK:-x}"}}},
  };
  for (const auto& c : cases) EXPECT_EQ(read(c.line), c.expected) << c.line;
}

TEST(Npmrc, CountsLinesWithAnyLineEnd) {
  const auto entries = parse_npmrc("a=1\r\n\r\nb=2\n\rc=3", lookup);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[1].line, 3);
  EXPECT_EQ(entries[2].line, 5);
}

TEST(TreeConfig, ListsOnlyWhatChangesTheTreeAndDiffersFromTheDefault) {
  const struct {
    const char* text;
    Pairs expected;
  } cases[] = {
      {"registry=https://r.example/\n@s:registry=x\n//r.example/:_authToken=x\nloglevel=silent\nfund=false\ncache=/c",
       {}},
      {"legacy-peer-deps=false\nbin-links=true\ninstall-strategy=hoisted\nomit=\npackage-lock=true", {}},
      {"legacy-peer-deps=true", {{"legacy-peer-deps", "true"}}},
      {"legacy-peer-deps=1\nforce=\nignore-scripts",
       {{"force", "true"}, {"ignore-scripts", "true"}, {"legacy-peer-deps", "true"}}},
      {"legacy-peer-deps=0\nforce=null", {}},
      {"bin-links=false\nrebuild-bundle=0", {{"bin-links", "false"}, {"rebuild-bundle", "false"}}},
      {"install-strategy=linked", {{"install-strategy", "linked"}}},
      {"global-style=true", {{"install-strategy", "shallow"}}},
      {"legacy-bundling = true", {{"install-strategy", "nested"}}},
      {"production=true", {{"omit", "dev"}}},
      {"only=prod\noptional=false", {{"omit", "dev,optional"}}},
      {"omit[]=peer\nomit[]=dev\ninclude=dev", {{"omit", "peer"}}},
      {"omit=dev\nproduction=false", {}},
      {"package-lock=false", {{"package-lock", "false"}}},
      {"shrinkwrap=false", {{"package-lock", "false"}}},
      {"allow-scripts[]=b\nallow-scripts[]=a", {{"allow-scripts", "a,b"}}},
      {"os=linux\ncpu=null\nlibc=musl", {{"libc", "musl"}, {"os", "linux"}}},
      {"allow-git=all\nbefore=2024-01-01", {{"allow-git", "all"}, {"before", "2024-01-01"}}},
      {"workspaces=false\nworkspace[]=a", {{"workspace", "a"}, {"workspaces", "false"}}},
      {"umask=022", {}},
      {"umask=18", {}},
      {"umask=077", {{"umask", "63"}}},
      {"electron_skip_binary_download=1\nruntime=electron",
       {{"electron_skip_binary_download", "1"}, {"runtime", "electron"}}},
  };
  for (const auto& c : cases) EXPECT_EQ(config(c.text).differing, c.expected) << c.text;
}

TEST(TreeConfig, LetsAHigherLayerReplaceALowerOne) {
  const auto user = parse_npmrc("legacy-peer-deps=true\nomit[]=dev\nomit[]=peer", lookup);
  const auto project = parse_npmrc("legacy-peer-deps=false\nomit=optional", lookup);
  EXPECT_EQ(tree_changing_config({{}, user, project}).differing, (Pairs{{"omit", "optional"}}));
}

TEST(ProgramKeys, ReturnsWhatNamesProgramsShellsOrNodeOptions) {
  const auto found = program_keys(parse_npmrc(
      "git=./x\nfund=false\nnode_gyp=./y\nScript-Shell=./z\ngit-tag-version=false\nnode-options[]=-r ./e\ndisturl=x",
      lookup));
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].key, "git");
  EXPECT_EQ(found[0].line, 1);
  EXPECT_EQ(found[1].key, "node_gyp");
  EXPECT_EQ(found[2].key, "Script-Shell");
  EXPECT_EQ(found[3].key, "node-options[]");
}

}  // namespace
}  // namespace pfnm
