// decide(): what is done with a tree, for every combination of facts; and small pure helpers of the command line.
#include <gmock/gmock.h>

#include "cli/exit_code.hpp"
#include "cli/json_text.hpp"
#include "cli/process_context.hpp"
#include "cli/provision.hpp"
#include "cli/render_provision.hpp"

namespace pfnm {
namespace {

constexpr Layout k_layouts[] = {Layout::links, Layout::private_copy};
constexpr SameAnswer k_same[] = {SameAnswer::no, SameAnswer::yes};
constexpr Intact k_intact[] = {Intact::no, Intact::yes};
constexpr Force k_force[] = {Force::no, Force::yes};

// Calls `check` with every combination of the facts that a rule says nothing about.
template <typename Check>
void for_all(Check check) {
  for (const SameAnswer same : k_same)
    for (const Intact intact : k_intact)
      for (const Force force : k_force) check(same, intact, force);
}

TEST(Decide, MakesWhatIsAskedForWhereThereIsNothing) {
  for_all([](SameAnswer same, Intact intact, Force force) {
    EXPECT_EQ(decide(TreeState::absent, Layout::links, same, intact, force), Decision::first_link);
    EXPECT_EQ(decide(TreeState::absent, Layout::private_copy, same, intact, force), Decision::make_private);
  });
}

TEST(Decide, RefusesAnUnmarkedTreeWithoutForce) {
  for (const Layout layout : k_layouts) {
    for (const SameAnswer same : k_same)
      for (const Intact intact : k_intact)
        EXPECT_EQ(decide(TreeState::unmarked, layout, same, intact, Force::no), Decision::refuse);
  }
}

TEST(Decide, TreatsAnUnmarkedTreeAsAbsentWithForce) {
  EXPECT_EQ(decide(TreeState::unmarked, Layout::links, SameAnswer::no, Intact::no, Force::yes), Decision::first_link);
  EXPECT_EQ(decide(TreeState::unmarked, Layout::private_copy, SameAnswer::no, Intact::no, Force::yes), Decision::make_private);
}

TEST(Decide, ConvertsAPrivateCopyOnlyWithForce) {
  for (const SameAnswer same : k_same) {
    for (const Intact intact : k_intact) {
      EXPECT_EQ(decide(TreeState::private_copy, Layout::links, same, intact, Force::no), Decision::leave_private);
      EXPECT_EQ(decide(TreeState::private_copy, Layout::links, same, intact, Force::yes), Decision::first_link);
      EXPECT_EQ(decide(TreeState::private_copy, Layout::private_copy, same, intact, Force::no), Decision::leave_private);
    }
  }
}

TEST(Decide, CompletesAnUnfinishedTreeWhateverItClaims) {
  for_all([](SameAnswer same, Intact intact, Force force) {
    EXPECT_EQ(decide(TreeState::unfinished, Layout::links, same, intact, force), Decision::relink);
    EXPECT_EQ(decide(TreeState::unfinished, Layout::private_copy, same, intact, force), Decision::make_private);
  });
}

TEST(Decide, LeavesALinkedTreeOnlyWhenItIsTheSameAndIntact) {
  for_all([](SameAnswer same, Intact intact, Force force) {
    const bool stands = same == SameAnswer::yes && intact == Intact::yes;
    EXPECT_EQ(decide(TreeState::linked, Layout::links, same, intact, force), stands ? Decision::leave : Decision::relink);
    EXPECT_EQ(decide(TreeState::linked, Layout::private_copy, same, intact, force), Decision::make_private);
  });
}

TEST(JsonText, EscapesWhatJsonForbids) {
  EXPECT_EQ(json_string("a\"b\\c\n\t\x01\x7f"), R"("a\"b\\c\n\u0009\u0001\u007f")");
  EXPECT_EQ(json_string(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(JsonText, KeepsWholeUtf8AndReplacesTheRest) {
  EXPECT_EQ(json_string("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
  EXPECT_EQ(json_string("\xff"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(json_string("\xc3"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(json_string("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(JsonText, ReplacesSurrogatesAndOverlongForms) {
  // RFC 8259 wants UTF-8, and UTF-8 has neither.
  EXPECT_EQ(json_string("\xed\xa0\x80").find("\xed\xa0\x80"), std::string::npos);
  EXPECT_EQ(json_string("\xe0\x80\x80").find("\xe0\x80\x80"), std::string::npos);
  EXPECT_EQ(json_string("\xf4\x90\x80\x80").find("\xf4\x90\x80\x80"), std::string::npos);
}

TEST(JsonText, RendersAnObjectInOrder) {
  JsonObject object;
  object.text("t", "x").number("n", UINT64_MAX).boolean("b", false).texts("l", {"a", "b"}).raw("r", "[]");
  EXPECT_EQ(object.render(), R"({"t":"x","n":18446744073709551615,"b":false,"l":["a","b"],"r":[]})");
}

TEST(HumanBytes, UseTheLargestUnitThatFits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(std::uint64_t{5} << 40U), "5.0 TiB");
}

TEST(ProcessEnvironment, TakesTheStoreFromItsVariableOrFromHome) {
  EXPECT_EQ((ProcessContext{{"HOME=/h", "PFNM_STORE=/s"}, "/d"}).store_root().value(), "/s");
  EXPECT_EQ((ProcessContext{{"HOME=/h"}, "/d"}).store_root().value(), "/h/.cache/pf-node-modules");
  EXPECT_EQ((ProcessContext{{"PFNM_STORE=rel/s//"}, "/d"}).store_root().value(), "/d/rel/s");
  EXPECT_EQ((ProcessContext{{}, "/d"}).store_root().error().code, Errc::usage);
}

TEST(ProcessEnvironment, DoesNotTakeALongerNameForAVariable) {
  const ProcessContext context{{"PATHS=wrong", "PATH=right"}, "/"};
  EXPECT_EQ(context.variable("PATH"), "right");
  EXPECT_EQ(context.variable("PAT"), "");
}

TEST(ExitCodes, FollowTheKindOfError) {
  EXPECT_EQ(exit_code_of(Errc::usage), ExitCode::usage);
  EXPECT_EQ(exit_code_of(Errc::refused), ExitCode::refused);
  EXPECT_EQ(exit_code_of(Errc::busy), ExitCode::busy);
  for (const Errc code : {Errc::not_found, Errc::bad_input, Errc::no_space, Errc::failed_child, Errc::corrupt, Errc::io})
    EXPECT_EQ(exit_code_of(code), ExitCode::error);
}

TEST(ErrorText, SaysWhatWhereWhyAndWhatNext) {
  EXPECT_EQ(Error::make(Errc::io, "open", "/p", "it is broken", "mend it").message(), "cannot open /p: it is broken\n  mend it");
  EXPECT_EQ(Error::from_errno(2, "open", "/p").message(), "cannot open /p: No such file or directory");
}

}  // namespace
}  // namespace pfnm
