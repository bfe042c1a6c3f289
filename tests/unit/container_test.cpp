// plan_container: what is done with each entry of a directory of the layout, for every case.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>

#include "nmstore/layout/container.hpp"
#include "nmstore/layout/tree_survey.hpp"
#include "tests/support/scratch.hpp"

namespace pfnm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using test::ScratchTest;
using test::write_text;

const std::string k_digest = "d1";

class Container : public ScratchTest {
 protected:
  enum class Step { nothing, create, replace, aside, aside_and_create, remove, old_scope };

  Container() : project_(at("project")) {
    plan_.dirs.push_back({"node_modules", PlanDirKind::managed, {}});
    plan_.dirs.push_back({"node_modules/@s", PlanDirKind::managed, {}});
  }

  // What is done with `entry` when the plan has `item` (or nothing of that name).
  [[nodiscard]] Step judge(const ExistingEntry& entry, const std::vector<PlanItem>& items,
                           const std::vector<OwnEntry>& own = {}, const KnownCopies& copies = {},
                           const std::string& directory = "node_modules") {
    const PlanDir dir{directory, PlanDirKind::managed, items};
    const ContainerSteps steps = plan_container({project_, plan_, dir, own, store_, copies, writable_}, {entry});
    const bool created = !steps.create.empty();
    const auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), entry.name) != names.end();
    };
    if (has(steps.old_scopes)) return Step::old_scope;
    if (has(steps.remove)) return created ? Step::replace : Step::remove;
    if (has(steps.aside)) return created ? Step::aside_and_create : Step::aside;
    return created ? Step::create : Step::nothing;
  }

  static ExistingEntry link(const std::string& name, const std::string& text) { return {name, FileType::symlink, text}; }
  static ExistingEntry dir(const std::string& name) { return {name, FileType::directory, {}}; }
  static ExistingEntry file(const std::string& name) { return {name, FileType::regular, {}}; }

  std::string project_;
  std::string store_ = "/the/store";
  std::vector<std::string> writable_;
  LayoutPlan plan_;
  PlanItem hop_{PlanOp::hop_link, "a", ".pf/shared/node_modules/a", ""};
  PlanItem workspace_{PlanOp::workspace_link, "w", "../packages/w", ""};
  PlanItem copy_{PlanOp::copy, "c", "node_modules/c", k_digest};
  PlanItem bin_{PlanOp::workspace_bin, "t", "../w/t.js", "packages/w/t.js"};
};

TEST_F(Container, JudgesAPlannedLinkThroughTheHop) {
  EXPECT_EQ(judge(link("a", hop_.target), {hop_}), Step::nothing);
  EXPECT_EQ(judge(link("a", "../.pf/shared/node_modules/a"), {hop_}), Step::replace);
  EXPECT_EQ(judge(link("a", "/the/store/key/node_modules/a"), {hop_}), Step::replace);
  EXPECT_EQ(judge(link("a", "/the/store-of-others/a"), {hop_}), Step::aside_and_create);
  EXPECT_EQ(judge(link("a", "../elsewhere"), {hop_}), Step::aside_and_create);
  EXPECT_EQ(judge(dir("a"), {hop_}), Step::aside_and_create);
  EXPECT_EQ(judge(file("a"), {hop_}), Step::aside_and_create);
}

TEST_F(Container, JudgesAPlannedWorkspaceLink) {
  EXPECT_EQ(judge(link("w", workspace_.target), {workspace_}), Step::nothing);
  EXPECT_EQ(judge(link("w", "../packages/old"), {workspace_}), Step::aside_and_create);
  EXPECT_EQ(judge(link("w", "../packages/old"), {workspace_},
                  {{OwnKind::workspace_link, "node_modules/w", "../packages/old"}}),
            Step::replace);
  EXPECT_EQ(judge(dir("w"), {workspace_}), Step::aside_and_create);
}

TEST_F(Container, JudgesAPlannedCopyByTheRecord) {
  EXPECT_EQ(judge(dir("c"), {copy_}, {{OwnKind::copy, "node_modules/c", k_digest}}), Step::nothing);
  EXPECT_EQ(judge(dir("c"), {copy_}, {{OwnKind::copy, "node_modules/c", "other"}}), Step::aside_and_create);
  EXPECT_EQ(judge(dir("c"), {copy_}), Step::aside_and_create);
  EXPECT_EQ(judge(link("c", ".pf/shared/node_modules/c"), {copy_}), Step::replace);
  EXPECT_EQ(judge(link("c", "../mine"), {copy_}), Step::aside_and_create);
}

TEST_F(Container, JudgesAPlannedCopyByItsContentAfterAnInterruptedRun) {
  const std::vector<OwnEntry> both{{OwnKind::copy, "node_modules/c", k_digest}, {OwnKind::copy, "node_modules/c", "d0"}};
  EXPECT_EQ(judge(dir("c"), {copy_}, both, {{"node_modules/c", k_digest}}), Step::nothing);
  EXPECT_EQ(judge(dir("c"), {copy_}, both, {{"node_modules/c", "d0"}}), Step::aside_and_create);
}

TEST_F(Container, LeavesACacheThatTheInstallHappensToHaveToo) {
  const PlanItem cache{PlanOp::copy, ".cache", "node_modules/.cache", k_digest};
  EXPECT_EQ(judge(dir(".cache"), {cache}), Step::nothing);
}

TEST_F(Container, JudgesAPlannedWorkspaceBinary) {
  write_text(project_ + "/packages/w/t.js", "#!/usr/bin/env node\n", 0755);
  EXPECT_EQ(judge(link("t", "../w/t.js"), {bin_}), Step::nothing);
  EXPECT_EQ(judge(link("t", "../w/old.js"), {bin_}), Step::aside_and_create);
  EXPECT_EQ(judge(link("t", "../w/old.js"), {bin_}, {{OwnKind::workspace_bin, "node_modules/t", "bin"}}), Step::replace);
  EXPECT_EQ(judge(file("t"), {bin_}), Step::aside_and_create);
}

TEST_F(Container, JudgesAWrapperByItsText) {
  write_text(project_ + "/packages/w/t.js", "#!/usr/bin/env node\n", 0644);
  write_text(project_ + "/node_modules/t", survey_bin(project_, bin_).content, 0755);
  EXPECT_EQ(judge(file("t"), {bin_}), Step::nothing);
  write_text(project_ + "/node_modules/t", "#!/bin/sh\nsomebody's own\n", 0755);
  EXPECT_EQ(judge(file("t"), {bin_}), Step::aside_and_create);
}

TEST_F(Container, LeavesOutABinaryWhoseFileIsMissing) {
  const PlanDir here{"node_modules", PlanDirKind::managed, {bin_}};
  const std::vector<OwnEntry> none;
  EXPECT_THAT(plan_container({project_, plan_, here, none, store_, {}, {}}, {}).create, IsEmpty());
}

TEST_F(Container, CreatesWhatIsMissingInTheOrderOfThePlan) {
  const PlanDir here{"node_modules", PlanDirKind::managed, {hop_, copy_, workspace_}};
  const std::vector<OwnEntry> none;
  const ContainerSteps steps = plan_container({project_, plan_, here, none, store_, {}, {}}, {link("b", "x"), link("zz", "y")});
  EXPECT_THAT(steps.create, ElementsAre(&here.items[0], &here.items[1], &here.items[2]));
}

TEST_F(Container, RemovesLinksOfItsOwnThatThePlanNoLongerHas) {
  EXPECT_EQ(judge(link("gone", ".pf/shared/node_modules/gone"), {}), Step::remove);
  EXPECT_EQ(judge(link("gone", "/the/store/key/node_modules/gone"), {}), Step::remove);
  EXPECT_EQ(judge(link("gone", "../packages/g"), {}, {{OwnKind::workspace_link, "node_modules/gone", "../packages/g"}}),
            Step::remove);
  EXPECT_EQ(judge(file("gone"), {}, {{OwnKind::workspace_bin, "node_modules/gone", "bin"}}), Step::remove);
}

TEST_F(Container, MovesAsideWhatItDidNotMake) {
  EXPECT_EQ(judge(link("theirs", "../elsewhere"), {}), Step::aside);
  EXPECT_EQ(judge(link("theirs", "../packages/g"), {}, {{OwnKind::workspace_link, "node_modules/theirs", "../packages/h"}}),
            Step::aside);
  EXPECT_EQ(judge(dir("theirs"), {}), Step::aside);
  EXPECT_EQ(judge(file("theirs"), {}), Step::aside);
  EXPECT_EQ(judge({"theirs", FileType::other, {}}, {}), Step::aside);
}

TEST_F(Container, NeverDeletesACopyThatThePlanNoLongerHas) {
  EXPECT_EQ(judge(dir("c"), {}, {{OwnKind::copy, "node_modules/c", k_digest}}), Step::aside);
}

TEST_F(Container, LeavesToolsTheirDotEntries) {
  for (const char* name : {".cache", ".vite", ".prisma", ".package-lock.json", ".pf", ".pf-aside", ".worktree-provisioned"})
    EXPECT_EQ(judge(dir(name), {}), Step::nothing) << name;
  EXPECT_EQ(judge(link(".pf-shared", ".pf/shared"), {}), Step::nothing);
}

TEST_F(Container, LeavesTheWritableDirectoriesOfTheSettings) {
  writable_ = {"build-cache", "deep/er"};
  EXPECT_EQ(judge(dir("build-cache"), {}), Step::nothing);
  EXPECT_EQ(judge(dir("deep"), {}), Step::nothing);
  EXPECT_EQ(judge(dir("build-cache-2"), {}), Step::aside);
}

TEST_F(Container, HasNoMercyForDotEntriesInsideScopes) {
  EXPECT_EQ(judge(dir(".x"), {}, {}, {}, "node_modules/@s"), Step::aside);
}

TEST_F(Container, LeavesADirectoryThatThePlanHas) {
  EXPECT_EQ(judge(dir("@s"), {}), Step::nothing);
  EXPECT_EQ(judge(file("@s"), {}), Step::aside);
  EXPECT_EQ(judge(link("@s", "elsewhere"), {}), Step::aside);
}

TEST_F(Container, EmptiesScopesAndBinThatThePlanNoLongerHas) {
  EXPECT_EQ(judge(dir("@old"), {}), Step::old_scope);
  EXPECT_EQ(judge(dir(".bin"), {}), Step::old_scope);
  EXPECT_EQ(judge(file("@old"), {}), Step::aside);
}

TEST_F(Container, LinksABinaryThatCanBeExecuted) {
  write_text(project_ + "/packages/w/t.js", "#!/usr/bin/env node\n", 0755);
  const BinForm form = survey_bin(project_, bin_);
  EXPECT_EQ(form.kind, BinForm::Kind::link);
  EXPECT_EQ(form.content, "../w/t.js");
}

TEST_F(Container, WrapsABinaryByItsInterpreter) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"#!/usr/bin/env node\n", "exec node "},
      {"#!/usr/bin/env node\r\n", "exec node "},
      {"#!/usr/bin/env -S node --flag\n", "exec node --flag "},
      {"#!/bin/bash -e\nset\n", "exec /bin/bash -e "},
      {"#! /bin/bash\n", "exec /bin/bash "},
      {"echo no shebang\n", "exec sh "},
      {"", "exec sh "},
  };
  for (const auto& [text, wanted] : table) {
    write_text(project_ + "/packages/w/t.js", text, 0644);
    const BinForm form = survey_bin(project_, bin_);
    EXPECT_EQ(form.kind, BinForm::Kind::wrapper) << text;
    EXPECT_NE(form.content.find(wanted), std::string::npos) << form.content;
  }
}

TEST_F(Container, WrapsAnExecutableBinaryWithDosLineEnds) {
  write_text(project_ + "/packages/w/t.js", "#!/usr/bin/env node\r\n", 0755);
  EXPECT_EQ(survey_bin(project_, bin_).kind, BinForm::Kind::wrapper);
}

TEST_F(Container, MakesNoBinaryOfADirectoryOrALink) {
  test::make_dirs(project_ + "/packages/w/t.js");
  EXPECT_EQ(survey_bin(project_, bin_).kind, BinForm::Kind::none);
}

TEST_F(Container, WrapsABinaryWithShellCharactersInItsName) {
  const PlanItem odd{PlanOp::workspace_bin, "t", "../w/a $(b) `c` \"d\".js", "packages/w/t.js"};
  write_text(project_ + "/packages/w/t.js", "#!/bin/sh\necho ran\n", 0644);
  write_text(project_ + "/w/a $(b) `c` \"d\".js", "#!/bin/sh\necho ran \"$1\"\n", 0644);
  write_text(project_ + "/bin/t", survey_bin(project_, odd).content, 0755);
  const auto result = test::run({{project_ + "/bin/t", "an argument"}, scratch().environment(), "/"});
  EXPECT_EQ(result.out, "ran an argument\n") << result.err;
}

TEST(LayoutNames, TellWhichContainerADirectoryBelongsTo) {
  EXPECT_EQ(container_of("node_modules"), "node_modules");
  EXPECT_EQ(container_of("node_modules/@s"), "node_modules");
  EXPECT_EQ(container_of("packages/a/node_modules/.bin"), "packages/a/node_modules");
  EXPECT_EQ(container_of("my_node_modules/node_modules/@s"), "my_node_modules/node_modules");
}

TEST(LayoutNames, KnowALinkThroughTheHop) {
  for (const char* text : {".pf/shared/node_modules/x", "../.pf/shared/node_modules/@s/x",
                           "../../../node_modules/.pf/shared/packages/a/node_modules/x"})
    EXPECT_TRUE(is_hop_target(text)) << text;
  for (const char* text : {"x", "../packages/a", ".pf/other", "/abs/.pf/shared/x", "a/.pf/shared/x"})
    EXPECT_FALSE(is_hop_target(text)) << text;
}

}  // namespace
}  // namespace pfnm
