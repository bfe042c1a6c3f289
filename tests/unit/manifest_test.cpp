// The manifest and the link plan: binary files that are mapped and searched; damage must never lead out of them.
#include <fcntl.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "nmstore/store/manifest.hpp"
#include "nmstore/store/plan.hpp"
#include "tests/support/scratch.hpp"

namespace pfnm {
namespace {

using test::ScratchTest;
using test::write_text;

ManifestEntry entry(const std::string& name, EntryIndex parent, FileType type, const std::string& text = "") {
  ManifestEntry out;
  out.name = name;
  out.parent = parent;
  out.type = type;
  out.mode = type == FileType::directory ? 0755 : 0644;
  if (type == FileType::symlink) out.link = text;
  if (type == FileType::regular) out.digest = sha256(text);
  out.size = text.size();
  out.ino = 100 + text.size();
  out.mtime_ns = -7;
  out.ctime_ns = 1'700'000'000'123'456'789;
  return out;
}

// /            /node_modules/{.bin, a, b}   /node_modules/.bin/a -> ../a/cli.js   /node_modules/a/{cli.js, lib}  /.../lib/x
std::vector<ManifestEntry> small_tree() {
  std::vector<ManifestEntry> entries(1);
  entries[0].type = FileType::directory;
  entries[0].first_child = 1;
  entries[0].child_count = 1;
  entries.push_back(entry("node_modules", 0, FileType::directory));
  entries[1].first_child = 2;
  entries[1].child_count = 3;
  entries.push_back(entry(".bin", 1, FileType::directory));
  entries.push_back(entry("a", 1, FileType::directory));
  entries.push_back(entry("b", 1, FileType::regular, "content of b"));
  entries[2].first_child = 5;
  entries[2].child_count = 1;
  entries.push_back(entry("a", 2, FileType::symlink, "../a/cli.js"));
  entries[3].first_child = 6;
  entries[3].child_count = 2;
  entries.push_back(entry("cli.js", 3, FileType::regular, "#!"));
  entries[6].mode = 0755;
  entries.push_back(entry("lib", 3, FileType::directory));
  entries[7].first_child = 8;
  entries[7].child_count = 1;
  entries.push_back(entry("x", 7, FileType::regular, "x"));
  return entries;
}

class Manifest : public ScratchTest {
 protected:
  [[nodiscard]] Result<ManifestView> opened(const std::string& bytes) const {
    write_text(at("manifest"), bytes);
    return ManifestView::open(at("manifest"));
  }
  // Everything that can be asked; returns how many entries answered, so that nothing is optimised away.
  static std::size_t ask_everything(const ManifestView& manifest) {
    std::size_t answers = 0;
    for (EntryIndex index = 0; index < manifest.size() + 3; ++index) {
      const auto found = manifest.at(index);
      answers += found.name.size() + found.link.size() + manifest.path_of(index).size();
      if (manifest.find_child(index, "a")) ++answers;
    }
    for (const char* path : {"", "node_modules", "node_modules/a/lib/x", "node_modules/zz", "a//b", "/"})
      if (manifest.find(path)) ++answers;
    return answers;
  }
};

TEST_F(Manifest, ReadsBackEveryFieldOfAnEntry) {
  const auto manifest = opened(render_manifest(small_tree()));
  ASSERT_TRUE(manifest.has_value()) << manifest.error().message();
  EXPECT_EQ(manifest->size(), 9U);
  const auto b = manifest->find("node_modules/b");
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(b->type, FileType::regular);
  EXPECT_EQ(b->mode, 0644U);
  EXPECT_EQ(b->size, 12U);
  EXPECT_EQ(b->ino, 112U);
  EXPECT_EQ(b->mtime_ns, -7);
  EXPECT_EQ(b->ctime_ns, 1'700'000'000'123'456'789);
  EXPECT_EQ(b->digest, sha256("content of b"));
}

TEST_F(Manifest, FindsEveryPathAndNamesItAgain) {
  const auto manifest = opened(render_manifest(small_tree()));
  ASSERT_TRUE(manifest.has_value());
  for (const char* path : {"", "node_modules", "node_modules/.bin", "node_modules/.bin/a", "node_modules/a",
                           "node_modules/a/cli.js", "node_modules/a/lib", "node_modules/a/lib/x", "node_modules/b"}) {
    const auto found = manifest->find(path);
    ASSERT_TRUE(found.has_value()) << path;
    EXPECT_EQ(manifest->path_of(found->index), path);
  }
}

TEST_F(Manifest, FindsNothingElse) {
  const auto manifest = opened(render_manifest(small_tree()));
  ASSERT_TRUE(manifest.has_value());
  for (const char* path : {"x", "node_modules/c", "node_modules/a/cli.js/x", "/node_modules", "node_modules//a"})
    EXPECT_FALSE(manifest->find(path).has_value()) << path;
}

TEST_F(Manifest, AnswersOutsideItsRangeWithAnEmptyEntry) {
  const auto manifest = opened(render_manifest(small_tree()));
  ASSERT_TRUE(manifest.has_value());
  EXPECT_EQ(manifest->at(9).type, FileType::other);
  EXPECT_EQ(manifest->at(UINT32_MAX).name, "");
}

TEST_F(Manifest, IsRefusedWhenTruncated) {
  const std::string whole = render_manifest(small_tree());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(opened(whole.substr(0, length)).has_value()) << length;
}

TEST_F(Manifest, IsRefusedWithAnythingBehindIt) {
  EXPECT_FALSE(opened(render_manifest(small_tree()) + "x").has_value());
}

TEST_F(Manifest, NeverLeadsOutOfItselfWhateverBytesAreFlipped) {
  const std::string whole = render_manifest(small_tree());
  std::mt19937 random(7);  // seeded: the same damage every time
  std::size_t opened_count = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 4; ++i) damaged[24 + random() % (damaged.size() - 24)] = static_cast<char>(random() & 0xffU);
    const auto manifest = opened(damaged);
    if (!manifest.has_value()) continue;
    ++opened_count;
    EXPECT_LT(ask_everything(*manifest), 100'000U);
  }
  EXPECT_GT(opened_count, 1000U);  // the damage was below the frame, where open() does not look
}

TEST_F(Manifest, IsRefusedWithAnyDamageInItsHeader) {
  const std::string whole = render_manifest(small_tree());
  for (std::size_t i = 0; i < 24; ++i) {
    for (const unsigned bit : {0U, 3U, 7U}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ (1U << bit));
      EXPECT_FALSE(opened(damaged).has_value()) << i;
    }
  }
}

TEST_F(Manifest, IsRefusedWhenItsSizesOnlyAgreeByOverflow) {
  std::string damaged = render_manifest(small_tree());
  const std::uint32_t count = 0x00ffffff;
  const std::uint64_t strings = damaged.size() - 24 - std::uint64_t{count} * 96;  // wraps
  std::memcpy(damaged.data() + 8, &count, sizeof(count));
  std::memcpy(damaged.data() + 16, &strings, sizeof(strings));
  EXPECT_NO_THROW(EXPECT_FALSE(opened(damaged).has_value()));
}

TEST_F(Manifest, GivesEqualSubtreesEqualDigestsInMemoryAndOnDisk) {
  const auto manifest = opened(render_manifest(small_tree()));
  ASSERT_TRUE(manifest.has_value());
  write_text(at("tree/cli.js"), "#!", 0755);
  write_text(at("tree/lib/x"), "x", 0600);
  const auto on_disk = subtree_digest_on_disk(AT_FDCWD, at("tree"));
  ASSERT_TRUE(on_disk.has_value());
  EXPECT_EQ(subtree_digest(*manifest, manifest->find("node_modules/a")->index), *on_disk);
}

TEST_F(Manifest, GivesEveryDifferenceAnotherSubtreeDigest) {
  write_text(at("tree/a"), "text", 0644);
  write_text(at("tree/d/b"), "text", 0644);
  const auto digest = [&] { return subtree_digest_on_disk(AT_FDCWD, at("tree")).value().to_hex(); };
  std::vector<std::string> seen{digest()};
  const auto expect_new = [&](const char* what) {
    const std::string now = digest();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), now), 0) << what;
    seen.push_back(now);
  };
  write_text(at("tree/a"), "other", 0644);
  expect_new("content");
  write_text(at("tree/a"), "other", 0755);
  expect_new("execute bit");
  write_text(at("tree/c"), "", 0644);
  expect_new("new name");
  test::delete_tree(at("tree/d/b"));
  expect_new("gone");
}

LayoutPlan small_plan() {
  LayoutPlan plan;
  plan.dirs.push_back({"node_modules", PlanDirKind::managed,
                       {{PlanOp::hop_link, "a", ".pf/shared/node_modules/a", ""},
                        {PlanOp::copy, "b", "node_modules/b", "digest"},
                        {PlanOp::workspace_link, "w", "../packages/w", ""}}});
  plan.dirs.push_back({"node_modules/.bin", PlanDirKind::managed, {{PlanOp::workspace_bin, "t", "../w/t.js", "packages/w/t.js"}}});
  plan.dirs.push_back({"node_modules/.cache", PlanDirKind::writable, {}});
  return plan;
}

TEST(PlanText, ReadsBackEverything) {
  const std::string bytes = render_plan(small_plan());
  const auto back = parse_plan(bytes, "f");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(render_plan(*back), bytes);
  EXPECT_EQ(back->dirs[2].kind, PlanDirKind::writable);
  EXPECT_EQ(back->dirs[0].items[1].identity, "digest");
}

TEST(PlanText, BelievesNoTruncatedPlan) {
  const std::string bytes = render_plan(small_plan());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(parse_plan(bytes.substr(0, length), "f").has_value()) << length;
}

TEST(PlanText, BelievesNothingBehindIt) {
  EXPECT_FALSE(parse_plan(render_plan(small_plan()) + "x", "f").has_value());
}

TEST(PlanText, RefusesAnItemNameThatIsNoPlainName) {
  for (const char* name : {"", ".", "..", "a/b", "/x"}) {
    LayoutPlan plan = small_plan();
    plan.dirs[0].items[0].name = name;
    EXPECT_FALSE(parse_plan(render_plan(plan), "f").has_value()) << name;
  }
}

TEST(PlanText, SurvivesFlippedBytes) {
  const std::string bytes = render_plan(small_plan());
  std::mt19937 random(11);  // seeded: the same damage every time
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random() & 0xffU);
    const auto plan = parse_plan(damaged, "f");
    if (!plan.has_value()) continue;
    for (const PlanDir& dir : plan->dirs) {
      for (const PlanItem& item : dir.items) EXPECT_EQ(item.name.find('/'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace pfnm
