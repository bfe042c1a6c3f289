// The link plan and the hidden lock of a layout, computed from a manifest and a lock.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "nmstore/build/layout_lock.hpp"
#include "nmstore/build/plan_layout.hpp"
#include "nmstore/layout/copy_tree.hpp"
#include "nmstore/store/install_check.hpp"
#include "tests/support/scratch.hpp"

namespace pfnm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using test::ScratchTest;
using test::write_text;

NpmLock lock_of(const std::string& packages) {
  auto lock = parse_npm_lock(R"({"lockfileVersion": 3, "packages": {)" + packages + "}}", "package-lock.json");
  if (!lock) {
    ADD_FAILURE() << lock.error().message();
    return {};
  }
  return *std::move(lock);
}

// What a real directory looks like as a manifest; sealing does the same with the modes taken away.
class LayoutTree : public ScratchTest {
 protected:
  void add(std::vector<ManifestEntry>& entries, EntryIndex index, const std::string& path) const {
    const auto names = test::names_in(path);
    entries[index].first_child = static_cast<EntryIndex>(entries.size());
    entries[index].child_count = static_cast<std::uint32_t>(names.size());
    for (const std::string& name : names) {
      const FileStat st = stat_at(AT_FDCWD, path + "/" + name).value();
      ManifestEntry entry;
      entry.name = name;
      entry.parent = index;
      entry.type = st.type();
      entry.mode = st.mode & 07777U;
      entry.size = st.is_dir() ? 0 : st.size;
      entry.ino = st.ino;
      entry.mtime_ns = st.mtime_ns;
      entry.ctime_ns = st.ctime_ns;
      if (st.is_symlink()) entry.link = test::link_text(path + "/" + name);
      if (st.is_regular()) entry.digest = sha256(test::read_text(path + "/" + name));
      entries.push_back(entry);
    }
    const EntryIndex first = entries[index].first_child;
    for (EntryIndex i = 0; i < names.size(); ++i)
      if (entries[first + i].type == FileType::directory) add(entries, first + i, path + "/" + names[i]);
  }
  // Depth first, so children are not all contiguous with their siblings' children: the format only asks that each
  // directory's own are.
  [[nodiscard]] ManifestView manifest_of(const std::string& directory) const {
    std::vector<ManifestEntry> entries(1);
    entries[0].type = FileType::directory;
    entries[0].mode = 0755;
    const FileStat st = stat_at(AT_FDCWD, directory).value();
    entries[0].ino = st.ino;
    entries[0].mtime_ns = st.mtime_ns;
    add(entries, 0, directory);
    write_text(at("manifest"), render_manifest(entries));
    return ManifestView::open(at("manifest")).value();
  }
  void package(const std::string& path) const { write_text(at("tree/" + path + "/package.json"), "{}"); }
};

const PlanItem* find_item(const LayoutPlan& plan, const std::string& dir, const std::string& name) {
  for (const PlanDir& candidate : plan.dirs) {
    if (candidate.path != dir) continue;
    for (const PlanItem& item : candidate.items)
      if (item.name == name) return &item;
  }
  return nullptr;
}

std::string target_of(const LayoutPlan& plan, const std::string& dir, const std::string& name) {
  const PlanItem* item = find_item(plan, dir, name);
  return item == nullptr ? "absent" : item->target;
}

TEST_F(LayoutTree, LinksEveryTopLevelPackageThroughTheHop) {
  package("node_modules/x");
  package("node_modules/@s/y");
  package("node_modules/x/node_modules/z");
  package("packages/a/node_modules/x");
  package("packages/a/node_modules/@s/y");
  write_text(at("tree/node_modules/.bin/x"), "#!/bin/sh", 0755);
  const LayoutPlan plan = plan_layout(manifest_of(at("tree")), lock_of(R"("": {})"));
  EXPECT_EQ(target_of(plan, "node_modules", "x"), ".pf/shared/node_modules/x");
  EXPECT_EQ(target_of(plan, "node_modules/@s", "y"), "../.pf/shared/node_modules/@s/y");
  EXPECT_EQ(target_of(plan, "node_modules/.bin", "x"), "../.pf/shared/node_modules/.bin/x");
  EXPECT_EQ(target_of(plan, "packages/a/node_modules", "x"),
            "../../../node_modules/.pf/shared/packages/a/node_modules/x");
  EXPECT_EQ(target_of(plan, "packages/a/node_modules/@s", "y"),
            "../../../../node_modules/.pf/shared/packages/a/node_modules/@s/y");
  for (const PlanDir& dir : plan.dirs) EXPECT_EQ(dir.path.find("x/node_modules"), std::string::npos) << dir.path;
}

TEST_F(LayoutTree, PutsTheRootFirstAndParentsBeforeChildren) {
  package("node_modules/@s/y");
  package("aaa/node_modules/x");
  const LayoutPlan plan = plan_layout(manifest_of(at("tree")), lock_of(R"("": {})"));
  std::vector<std::string> paths;
  for (const PlanDir& dir : plan.dirs) paths.push_back(dir.path);
  EXPECT_THAT(paths, ElementsAre("node_modules", "node_modules/@s", "aaa/node_modules"));
}

TEST_F(LayoutTree, HasARootEvenForAnEmptyLock) {
  test::make_dirs(at("tree"));
  const LayoutPlan plan = plan_layout(manifest_of(at("tree")), lock_of(R"("": {})"));
  ASSERT_EQ(plan.dirs.size(), 1U);
  EXPECT_EQ(plan.dirs[0].path, "node_modules");
}

TEST_F(LayoutTree, KeepsLinksToWorkspacesAsNpmMadeThem) {
  test::make_dirs(at("tree/node_modules"));
  ASSERT_EQ(::symlink("../packages/w", at("tree/node_modules/w").c_str()), 0);
  const LayoutPlan plan = plan_layout(manifest_of(at("tree")), lock_of(R"("": {})"));
  ASSERT_NE(find_item(plan, "node_modules", "w"), nullptr);
  EXPECT_EQ(find_item(plan, "node_modules", "w")->op, PlanOp::workspace_link);
  EXPECT_EQ(target_of(plan, "node_modules", "w"), "../packages/w");
}

TEST_F(LayoutTree, LeavesNpmsHiddenLockOut) {
  package("node_modules/x");
  write_text(at("tree/node_modules/.package-lock.json"), "{}");
  const LayoutPlan plan = plan_layout(manifest_of(at("tree")), lock_of(R"("": {})"));
  EXPECT_EQ(find_item(plan, "node_modules", ".package-lock.json"), nullptr);
}

TEST_F(LayoutTree, CopiesDotDirectoriesAndPackagesThatReachAWorkspace) {
  package("node_modules/reaches");
  package("node_modules/between");
  package("node_modules/other");
  write_text(at("tree/node_modules/.generated/index.js"), "x");
  const NpmLock lock = lock_of(R"("": {"workspaces": ["w"]}, "w": {"name": "w", "version": "1.0.0"},
    "node_modules/w": {"resolved": "w", "link": true},
    "node_modules/between": {"version": "1.0.0", "dependencies": {"w": "1"}},
    "node_modules/reaches": {"version": "1.0.0", "dependencies": {"between": "1"}},
    "node_modules/other": {"version": "1.0.0"})");
  const LayoutPlan plan = plan_layout(manifest_of(at("tree")), lock);
  for (const char* name : {"reaches", "between", ".generated"}) {
    ASSERT_NE(find_item(plan, "node_modules", name), nullptr) << name;
    EXPECT_EQ(find_item(plan, "node_modules", name)->op, PlanOp::copy) << name;
    EXPECT_EQ(target_of(plan, "node_modules", name), std::string("node_modules/") + name);
  }
  EXPECT_EQ(find_item(plan, "node_modules", "other")->op, PlanOp::hop_link);
  EXPECT_THAT(copied_packages(lock), ElementsAre("node_modules/between", "node_modules/reaches"));
}

TEST_F(LayoutTree, CopiesPrismasClientOnlyWhereItGeneratesIntoItself) {
  const std::string packages = R"("": {}, "node_modules/@prisma/client": {"version": "VERSION"},
    "node_modules/uses-it": {"version": "1.0.0", "dependencies": {"@prisma/client": "1"}})";
  const auto copied = [&](const std::string& version) {
    std::string text = packages;
    return copied_packages(lock_of(text.replace(text.find("VERSION"), 7, version)));
  };
  EXPECT_THAT(copied("5.1.0"), ElementsAre("node_modules/@prisma/client", "node_modules/uses-it"));
  EXPECT_THAT(copied("7.0.0"), IsEmpty());
  EXPECT_THAT(copied("10.0.0"), IsEmpty());
}

TEST_F(LayoutTree, GivesABinaryNameToThePackageBeforeTheWorkspace) {
  package("node_modules/x");
  write_text(at("tree/node_modules/.bin/tool"), "#!/bin/sh", 0755);
  const NpmLock lock = lock_of(R"("": {"workspaces": ["w"]},
    "w": {"name": "w", "version": "1.0.0", "bin": {"tool": "t.js", "own": "o.js"}},
    "node_modules/w": {"resolved": "w", "link": true})");
  const LayoutPlan plan = plan_layout(manifest_of(at("tree")), lock);
  EXPECT_EQ(find_item(plan, "node_modules/.bin", "tool")->op, PlanOp::hop_link);
  ASSERT_NE(find_item(plan, "node_modules/.bin", "own"), nullptr);
  EXPECT_EQ(find_item(plan, "node_modules/.bin", "own")->op, PlanOp::workspace_bin);
  EXPECT_EQ(target_of(plan, "node_modules/.bin", "own"), "../w/o.js");
  EXPECT_EQ(find_item(plan, "node_modules/.bin", "own")->identity, "w/o.js");
}

TEST_F(LayoutTree, IsThePlanOfAnyOtherRunToo) {
  package("node_modules/x");
  package("node_modules/@s/y");
  const NpmLock lock = lock_of(R"("": {})");
  EXPECT_EQ(render_plan(plan_layout(manifest_of(at("tree")), lock)), render_plan(plan_layout(manifest_of(at("tree")), lock)));
}

class LayoutLock : public LayoutTree {
 protected:
  [[nodiscard]] Result<std::string> rendered(const std::string& hidden, const NpmLock& lock) const {
    const ManifestView manifest = manifest_of(at("tree"));
    const std::vector<std::string> copied;
    return render_layout_lock({hidden, lock, manifest, copied, ""});
  }
};

TEST_F(LayoutLock, DescribesLinksAndTargets) {
  package("node_modules/x");
  package("node_modules/y");
  package("w");
  ASSERT_EQ(::symlink("../w", at("tree/node_modules/w").c_str()), 0);
  const NpmLock lock = lock_of(R"("": {"name": "root", "version": "2.0.0", "workspaces": ["w"], "dependencies": {"x": "1"}},
    "w": {"name": "w", "version": "1.0.0"}, "node_modules/w": {"resolved": "w", "link": true},
    "node_modules/x": {"version": "1.0.0", "dependencies": {"y": "1"}}, "node_modules/y": {"version": "1.0.0"})");
  const std::string hidden = R"({"name": "root", "lockfileVersion": 3, "packages": {
    "w": {"name": "w", "version": "1.0.0"}, "node_modules/w": {"resolved": "w", "link": true},
    "node_modules/x": {"version": "1.0.0", "dependencies": {"y": "1"}}, "node_modules/y": {"version": "1.0.0"}}})";
  const auto text = rendered(hidden, lock);
  ASSERT_TRUE(text.has_value()) << text.error().message();
  const auto packages = nlohmann::json::parse(*text)["packages"];
  EXPECT_EQ(packages["node_modules/.pf/shared/node_modules/x"]["version"], "1.0.0");
  EXPECT_EQ(packages["node_modules/x"]["link"], true);
  EXPECT_EQ(packages["node_modules/x"]["resolved"], "node_modules/.pf/shared/node_modules/x");
  EXPECT_EQ(packages["node_modules/.pf/shared/node_modules/y"]["version"], "1.0.0");
  EXPECT_FALSE(packages.contains("node_modules/y")) << "only direct dependencies are links";
  EXPECT_EQ(packages["node_modules/w"]["resolved"], "w");
  EXPECT_EQ(packages["node_modules/.pf/shared"]["version"], "2.0.0");
  EXPECT_EQ(packages["node_modules/.pf/shared"]["extraneous"], true);
  EXPECT_EQ(packages["node_modules/.pf/shared/w"]["extraneous"], true);
}

TEST_F(LayoutLock, HasNoStubForAWorkspaceThatTheCheckoutDoesNotHave) {
  package("node_modules/x");
  const NpmLock lock = lock_of(R"("": {"workspaces": ["w"]}, "w": {"name": "w", "version": "1.0.0"},
    "node_modules/w": {"resolved": "w", "link": true}, "node_modules/x": {"version": "1.0.0"})");
  const auto text = rendered(R"({"lockfileVersion": 3, "packages": {"node_modules/x": {"version": "1.0.0"}}})", lock);
  ASSERT_TRUE(text.has_value()) << text.error().message();
  const auto packages = nlohmann::json::parse(*text)["packages"];
  EXPECT_FALSE(packages.contains("node_modules/.pf/shared/w"));
  EXPECT_TRUE(packages.contains("node_modules/.pf/shared/node_modules/x"));
}

TEST_F(LayoutLock, RefusesAHiddenLockThatIsNone) {
  package("node_modules/x");
  for (const char* hidden : {"", "[]", "{}", R"({"packages": []})", "{"})
    EXPECT_FALSE(rendered(hidden, lock_of(R"("": {})")).has_value()) << hidden;
}

class CopySubtree : public LayoutTree {};

TEST_F(CopySubtree, IsWritableAndOtherwiseEqual) {
  write_text(at("tree/d/run.sh"), "#!/bin/sh", 0755);
  write_text(at("tree/d/deep/er/file"), "text", 0644);
  test::make_dirs(at("tree/d/empty"));
  ASSERT_EQ(::symlink("../outside", at("tree/d/link").c_str()), 0);
  const ManifestView manifest = manifest_of(at("tree"));
  const auto before = test::photograph(at("tree/d"));
  // As in a sealed install: the modes of the manifest count, not those on disk.
  ASSERT_EQ(::chmod(at("tree/d/run.sh").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(at("tree/d/deep/er/file").c_str(), 0444), 0);
  const auto report = copy_subtree(Fs(), {at("tree"), manifest, manifest.find("d")->index, at("copy"), {}, {}});
  ASSERT_TRUE(report.has_value()) << report.error().message();
  EXPECT_THAT(test::differences(before, test::photograph(at("copy")), test::Compare::content), IsEmpty());
  EXPECT_EQ(report->entries, 7U);
  EXPECT_EQ(report->bytes, 13U);
}

TEST_F(CopySubtree, LeavesOutWhatItIsToldTo) {
  write_text(at("tree/d/a"), "");
  write_text(at("tree/d/b/c"), "");
  const ManifestView manifest = manifest_of(at("tree"));
  const auto choose = [](const ManifestView::Entry&, const std::string& path) {
    return path == "d/b" ? CopyChoice::leave_out : CopyChoice::copy;
  };
  ASSERT_TRUE(copy_subtree(Fs(), {at("tree"), manifest, manifest.find("d")->index, at("copy"), choose, {}}).has_value());
  EXPECT_THAT(test::names_in(at("copy")), ElementsAre("a"));
}

TEST_F(CopySubtree, CopiesManyFilesWithTwoThreads) {
  for (int i = 0; i < 700; ++i) write_text(at("tree/d/" + std::to_string(i % 7) + "/" + std::to_string(i)), std::to_string(i));
  const ManifestView manifest = manifest_of(at("tree"));
  const auto report = copy_subtree(Fs(), {at("tree"), manifest, manifest.find("d")->index, at("copy"), {}, {}});
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(test::differences(test::photograph(at("tree/d")), test::photograph(at("copy")), test::Compare::content), IsEmpty());
}

TEST_F(CopySubtree, FailsAsAWholeWhenAFileIsGone) {
  write_text(at("tree/d/a"), "x");
  const ManifestView manifest = manifest_of(at("tree"));
  test::delete_tree(at("tree/d/a"));
  EXPECT_FALSE(copy_subtree(Fs(), {at("tree"), manifest, manifest.find("d")->index, at("copy"), {}, {}}).has_value());
}

class InstallCheck : public LayoutTree {
 protected:
  // A tree as sealing leaves it, and its manifest.
  ManifestView sealed() {
    package("node_modules/x");
    write_text(at("tree/node_modules/x/lib/run.sh"), "#!/bin/sh", 0755);
    must(::symlink("x", at("tree/node_modules/link").c_str()) == 0);
    for (const auto& [path, entry] : test::photograph(at("tree")))
      if (entry.type == 'f') must(::chmod(at("tree/" + path).c_str(), entry.mode & 07555U) == 0);
    auto tree = test::photograph(at("tree"));
    for (auto entry = tree.rbegin(); entry != tree.rend(); ++entry)
      if (entry->second.type == 'd') must(::chmod(at("tree/" + entry->first).c_str(), 0555) == 0);
    return manifest_of(at("tree"));
  }
  static void must(bool holds) {
    if (!holds) throw std::runtime_error("cannot prepare the tree");
  }
  [[nodiscard]] std::vector<std::string> verified(const ManifestView& manifest) const {
    std::vector<std::string> lines;
    const std::vector<DamagedPath> damaged = verify_install(at("tree"), manifest, {}).value();
    for (const DamagedPath& path : damaged)
      lines.push_back(std::string(damage_word(path.damage)) + " " + path.path);
    return lines;
  }
  [[nodiscard]] std::vector<std::string> checked(const ManifestView& manifest) const {
    std::vector<std::string> lines;
    const std::vector<DamagedPath> damaged = check_install(at("tree"), manifest, 12345).value();
    for (const DamagedPath& path : damaged) {
      const std::string line = std::string(damage_word(path.damage)) + " " + path.path;
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
    }
    return lines;
  }
};

TEST_F(InstallCheck, FindsNothingInAWholeInstall) {
  const ManifestView manifest = sealed();
  EXPECT_THAT(verified(manifest), IsEmpty());
  EXPECT_THAT(checked(manifest), IsEmpty());
}

TEST_F(InstallCheck, NamesAChangedLinkAndAMissingFile) {
  const ManifestView manifest = sealed();
  ASSERT_EQ(::chmod(at("tree/node_modules").c_str(), 0755), 0);
  ASSERT_EQ(::unlink(at("tree/node_modules/link").c_str()), 0);
  ASSERT_EQ(::symlink("y", at("tree/node_modules/link").c_str()), 0);
  ASSERT_EQ(::chmod(at("tree/node_modules").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(at("tree/node_modules/x").c_str(), 0755), 0);
  ASSERT_EQ(::unlink(at("tree/node_modules/x/package.json").c_str()), 0);
  ASSERT_EQ(::chmod(at("tree/node_modules/x").c_str(), 0555), 0);
  EXPECT_THAT(verified(manifest), ElementsAre("changed node_modules/link", "missing node_modules/x/package.json"));
  EXPECT_THAT(checked(manifest), ::testing::Contains("missing node_modules/x/package.json"));
}

TEST_F(InstallCheck, NamesAnExtraFileAndAMode) {
  const ManifestView manifest = sealed();
  ASSERT_EQ(::chmod(at("tree/node_modules/x/lib").c_str(), 0755), 0);
  write_text(at("tree/node_modules/x/lib/extra"), "");
  EXPECT_THAT(verified(manifest), ElementsAre("mode node_modules/x/lib", "extra node_modules/x/lib/extra"));
}

TEST_F(InstallCheck, DoesNotMindAMovedCtimeWhereTheContentIsTheSame) {
  const ManifestView manifest = sealed();
  ASSERT_EQ(::link(at("tree/node_modules/x/package.json").c_str(), at("a-hard-link").c_str()), 0);
  EXPECT_THAT(checked(manifest), IsEmpty());
}

TEST_F(InstallCheck, KnowsTheModeOfASealedEntry) {
  EXPECT_EQ(sealed_mode(FileType::directory, 0755), 0555U);
  EXPECT_EQ(sealed_mode(FileType::directory, 0700), 0555U);
  EXPECT_EQ(sealed_mode(FileType::regular, 0755), 0555U);
  EXPECT_EQ(sealed_mode(FileType::regular, 0644), 0444U);
  EXPECT_EQ(sealed_mode(FileType::regular, 0600), 0400U);
}

}  // namespace
}  // namespace pfnm
