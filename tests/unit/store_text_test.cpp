// The store's text formats: what is written is read back, and what is damaged is never believed.
#include <gmock/gmock.h>

#include <random>

#include "nmstore/store/line_file.hpp"
#include "nmstore/store/names.hpp"
#include "nmstore/store/record.hpp"
#include "nmstore/store/seal.hpp"

namespace pfnm {
namespace {

using ::testing::ElementsAre;

std::string name_of(char c, const std::string& suffix = "") { return std::string(64, c) + suffix; }

std::string lines_of(std::initializer_list<std::string_view> fields) {
  LineWriter out("thing", 1);
  out.line(fields);
  return std::move(out).finish();
}

TEST(LineFile, ReadsBackAnyByteInAField) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const auto lines = parse_lines(lines_of({"word", all, ""}), "thing", 1, "f");
  ASSERT_TRUE(lines.has_value()) << lines.error().message();
  EXPECT_THAT(*lines, ElementsAre(ElementsAre("word", all, "")));
}

TEST(LineFile, TellsAnEmptyFieldFromAPercentSign) {
  const auto lines = parse_lines(lines_of({"", "%", "%%"}), "thing", 1, "f");
  ASSERT_TRUE(lines.has_value());
  EXPECT_THAT(*lines, ElementsAre(ElementsAre("", "%", "%%")));
}

TEST(LineFile, BelievesNoTruncatedText) {
  const std::string text = lines_of({"word", "a value", "end"});
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(parse_lines(text.substr(0, length), "thing", 1, "f").has_value()) << length;
}

TEST(LineFile, IsNotEndedByALineThatMerelySaysEnd) {
  LineWriter out("thing", 1);
  out.line({"end"});
  out.line({"after"});
  const auto lines = parse_lines(std::move(out).finish(), "thing", 1, "f");
  ASSERT_TRUE(lines.has_value());
  EXPECT_EQ(lines->size(), 2U);
}

TEST(LineFile, RefusesAnotherKindVersionOrTrailingText) {
  const std::string text = lines_of({"word"});
  EXPECT_FALSE(parse_lines(text, "other", 1, "f").has_value());
  EXPECT_FALSE(parse_lines(text, "thing", 2, "f").has_value());
  EXPECT_FALSE(parse_lines(text + "more\n", "thing", 1, "f").has_value());
  EXPECT_FALSE(parse_lines("", "thing", 1, "f").has_value());
}

TEST(LineFile, RefusesABadEscape) {
  for (const char* field : {"%4", "%G0", "a%", "%0g"})
    EXPECT_FALSE(parse_lines(std::string("pfnm-thing 1\n") + field + "\nend\n", "thing", 1, "f").has_value()) << field;
}

TEST(LineFile, NamesTheFileInItsError) {
  const auto lines = parse_lines("x", "thing", 1, "/some/file");
  ASSERT_FALSE(lines.has_value());
  EXPECT_EQ(lines.error().code, Errc::corrupt);
  EXPECT_EQ(lines.error().path, "/some/file");
}

TEST(LineFile, ReadsOnlyWholeNumbers) {
  EXPECT_EQ(parse_u64("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_i64("-5"), -5);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "18446744073709551616", "-1"})
    EXPECT_FALSE(parse_u64(text).has_value()) << text;
}

Record whole_record() {
  Record record;
  record.install.text = name_of('a', "-linux-x64-glibc-abi115");
  record.fingerprint = sha256("fingerprint");
  record.store = "/home/some one/store";
  record.layout = Layout::links;
  record.node = {"/usr/bin/node", 1, 2, 3};
  record.npm = {"/usr/bin/npm", 4, 5, -6};
  record.settings.writable = {".one", "two words"};
  record.inputs = {{"package-lock.json", InputKind::file, 7, 8, 9, 10, sha256("lock")},
                   {".npmrc", InputKind::absent, 0, 0, 0, 0, {}},
                   {"patches", InputKind::directory, 11, 12, 13, 14, sha256("names")}};
  record.configs = {{"/etc/gitconfig", InputKind::file, 1, 2, 3, 4, sha256("config")}};
  record.dirs = {{"node_modules", 1000}, {"node_modules/@s", -1}};
  record.own = {{OwnKind::workspace_link, "node_modules/w", "../packages/w"},
                {OwnKind::workspace_bin, "node_modules/.bin/w", "bin"},
                {OwnKind::copy, "node_modules/c", sha256("c").to_hex()}};
  return record;
}

TEST(RecordText, ReadsBackEverything) {
  const Record record = whole_record();
  const auto back = parse_record(render_record(record), "f");
  ASSERT_TRUE(back.has_value()) << back.error().message();
  EXPECT_EQ(render_record(*back), render_record(record));
  EXPECT_EQ(back->install, record.install);
  EXPECT_EQ(back->fingerprint, record.fingerprint);
  EXPECT_EQ(back->store, record.store);
  EXPECT_EQ(back->node, record.node);
  EXPECT_EQ(back->npm, record.npm);
  EXPECT_EQ(back->settings, record.settings);
  ASSERT_EQ(back->inputs.size(), 3U);
  EXPECT_EQ(back->inputs[2].kind, InputKind::directory);
  EXPECT_EQ(back->inputs[0].digest, sha256("lock"));
  EXPECT_EQ(back->dirs[1].mtime_ns, -1);
  EXPECT_EQ(back->own[1].kind, OwnKind::workspace_bin);
}

TEST(RecordText, ReadsBackAPrivateCopy) {
  Record record = whole_record();
  record.layout = Layout::private_copy;
  const auto back = parse_record(render_record(record), "f");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->layout, Layout::private_copy);
}

TEST(RecordText, BelievesNoTruncatedRecord) {
  const std::string text = render_record(whole_record());
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(parse_record(text.substr(0, length), "f").has_value()) << length;
}

TEST(RecordText, NeverFailsBadlyOnFlippedBytes) {
  const std::string text = render_record(whole_record());
  std::mt19937 random(20240501);  // seeded: the same damage every time
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random() & 0xffU);
    const auto record = parse_record(damaged, "f");
    // Whatever is accepted names an install by a valid name.
    if (record.has_value()) {
      EXPECT_TRUE(InstallName::parse(record->install.text).has_value());
    }
  }
}

TEST(RecordText, RefusesARecordWithoutAnInstallOrAStore) {
  Record record = whole_record();
  record.store = "";
  EXPECT_FALSE(parse_record(render_record(record), "f").has_value());
}

TEST(Memo, ReadsBackTheListOfInputs) {
  const InputsMemo memo{{"package-lock.json", "tgz/a b.tgz"}, {"/etc/gitconfig"}};
  const auto back = parse_inputs_memo(render_inputs_memo(memo), "f");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->inputs, memo.inputs);
  EXPECT_EQ(back->configs, memo.configs);
}

TEST(Memo, ReadsBackTheAnswer) {
  const KeyMemo memo{{name_of('b')}, sha256("f"), {{".w"}}, "private"};
  const auto back = parse_key_memo(render_key_memo(memo), "f");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->install, memo.install);
  EXPECT_EQ(back->fingerprint, memo.fingerprint);
  EXPECT_EQ(back->settings, memo.settings);
  EXPECT_EQ(back->default_layout, "private");
}

TEST(Memo, HasAnotherNameForEveryPartOfItsScope) {
  const MemoScope scope{"/repo/.git", "app", {"/n", 1, 2, 3}, {"/m", 4, 5, 6}, {"HOME=/h", "OTHER=1"}};
  const Digest lock = sha256("lock");
  const Digest name = inputs_memo_name(scope, lock);
  EXPECT_EQ(inputs_memo_name(scope, lock), name);
  EXPECT_NE(inputs_memo_name(scope, sha256("other lock")), name);
  std::vector<MemoScope> others(8, scope);
  others[0].common_dir = "/other/.git";
  others[1].project = "";
  others[2].node.path = "/n2";
  others[3].node.ino = 9;
  others[4].npm.mtime_ns = 9;
  others[5].npm.dev = 9;
  others[6].environment[0] = "HOME=/other";
  others[7].environment.emplace_back("XDG_CONFIG_HOME=/x");
  for (const MemoScope& other : others) EXPECT_NE(inputs_memo_name(other, lock), name);
  MemoScope same = scope;
  same.environment[1] = "OTHER=2";
  EXPECT_EQ(inputs_memo_name(same, lock), name);
}

TEST(Memo, TellsAnAbsentFileFromAnEmptyOne) {
  const Input absent{"a", InputKind::absent, 0, 0, 0, 0, {}};
  const Input empty{"a", InputKind::file, 0, 1, 1, 1, sha256("")};
  const Digest name = sha256("memo");
  EXPECT_NE(key_memo_name(name, {absent}, {}), key_memo_name(name, {empty}, {}));
  EXPECT_NE(key_memo_name(name, {empty}, {}), key_memo_name(name, {}, {empty}));
}

Seal whole_seal() {
  Seal seal;
  seal.install.text = name_of('c', "-x0123abcd");
  seal.fingerprint = sha256("s");
  seal.manifest_checksum = UINT64_MAX;
  seal.plan_checksum = 1;
  seal.boot = "boot id";
  seal.synced = Synced::no;
  seal.sealed_at = 1'700'000'000;
  seal.bytes = 5;
  seal.entries = 6;
  seal.builder = "npm 11.0.0, node 20.0.0";
  seal.items = {{"lock", "abc"}, {"file", "tgz/x y.tgz"}};
  seal.not_run = {{".", "postinstall prepare"}};
  return seal;
}

TEST(SealText, ReadsBackEverything) {
  const Seal seal = whole_seal();
  const auto back = parse_seal(render_seal(seal), "f");
  ASSERT_TRUE(back.has_value()) << back.error().message();
  EXPECT_EQ(render_seal(*back), render_seal(seal));
  EXPECT_EQ(back->manifest_checksum, UINT64_MAX);
  EXPECT_EQ(back->items, seal.items);
  EXPECT_EQ(back->not_run, seal.not_run);
}

TEST(SealText, BelievesNoTruncatedSeal) {
  const std::string text = render_seal(whole_seal());
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(parse_seal(text.substr(0, length), "f").has_value()) << length;
}

TEST(SealText, MustBeVerifiedOnlyWhenUnsyncedAndOfAnotherBoot) {
  Seal seal = whole_seal();
  EXPECT_FALSE(needs_verification(seal, "boot id"));
  EXPECT_TRUE(needs_verification(seal, "another boot"));
  seal.synced = Synced::yes;
  EXPECT_FALSE(needs_verification(seal, "another boot"));
}

TEST(Names, AcceptADigestWithAReadableSuffix) {
  for (const std::string& text : {name_of('0'), name_of('f', "-linux-x64-glibc-abi115-x01234567"), name_of('9', "-a")})
    EXPECT_TRUE(InstallName::parse(text).has_value()) << text;
}

TEST(Names, RefuseEverythingElse) {
  for (const std::string& text :
       {std::string(), std::string(63, 'a'), name_of('A'), name_of('g'), name_of('a', "-"), name_of('a', "x"),
        name_of('a', "-../b"), name_of('a', "-a/b"), name_of('a', "-a b"), name_of('a', "-" + std::string(300, 'a')),
        name_of('a', std::string("-a\0b", 4))})
    EXPECT_FALSE(InstallName::parse(text).has_value()) << text;
}

TEST(Names, KeepEverythingOfOursBelowOneDirectory) {
  const StorePaths paths("/s");
  const InstallName name{name_of('a')};
  EXPECT_EQ(paths.install(name), "/s/" + name.text);
  for (const std::string& path : {paths.seal(name), paths.build_lock(name), paths.build_slot(1), paths.worktree_lock("w"),
                                  paths.lease(name), paths.reference("r"), paths.trash(), paths.new_installs(),
                                  paths.log(name), paths.memo("k", "i"), paths.format_file()})
    EXPECT_TRUE(path.starts_with("/s/.pf/")) << path;
}

}  // namespace
}  // namespace pfnm
