// Every expectation of the tables was produced by node-semver 7 with {includePrerelease: true}.
#include "nmstore/lock/semver.hpp"

#include <gtest/gtest.h>

namespace pfnm {
namespace {

enum class Satisfied { no, yes };

struct Case {
  const char* version;
  const char* range;
  Satisfied expected;
};

constexpr Case k_cases[] = {
    {"1.2.3", "", Satisfied::yes},
    {"1.2.3-0", "", Satisfied::yes},
    {"0.0.0", "*", Satisfied::yes},
    {"2.0.0-rc.1", "*", Satisfied::yes},
    {"1.0.0", "x", Satisfied::yes},
    {"1.0.0-0", "1", Satisfied::yes},
    {"1.9.9", "1", Satisfied::yes},
    {"2.0.0-0", "1", Satisfied::no},
    {"1.5.0", "1.x", Satisfied::yes},
    {"2.0.0", "1.x", Satisfied::no},
    {"1.2.9", "1.2.x", Satisfied::yes},
    {"1.3.0-0", "1.2.x", Satisfied::no},
    {"1.2.0", "1.2.*", Satisfied::yes},
    {"1.2.3", "~1.2.3", Satisfied::yes},
    {"1.2.9", "~1.2.3", Satisfied::yes},
    {"1.3.0", "~1.2.3", Satisfied::no},
    {"1.2.3-beta.1", "~1.2.3", Satisfied::no},
    {"1.3.0-0", "~1.2.3", Satisfied::no},
    {"1.2.0-0", "~1.2", Satisfied::yes},
    {"1.3.0", "~1.2", Satisfied::no},
    {"1.9.0", "~1", Satisfied::yes},
    {"2.0.0", "~1", Satisfied::no},
    {"1.2.4", "~> 1.2.3", Satisfied::yes},
    {"1.3.0", "~> 1.2.3", Satisfied::no},
    {"1.9.0", "^1.2.3", Satisfied::yes},
    {"2.0.0", "^1.2.3", Satisfied::no},
    {"2.0.0-rc.1", "^1.2.3", Satisfied::no},
    {"1.2.2", "^1.2.3", Satisfied::no},
    {"0.2.9", "^0.2.3", Satisfied::yes},
    {"0.3.0", "^0.2.3", Satisfied::no},
    {"0.0.3", "^0.0.3", Satisfied::yes},
    {"0.0.4", "^0.0.3", Satisfied::no},
    {"0.9.0", "^0", Satisfied::yes},
    {"1.0.0", "^0", Satisfied::no},
    {"0.0.9", "^0.0", Satisfied::yes},
    {"0.1.0", "^0.0", Satisfied::no},
    {"1.2.3-beta.1", "^1.2.3-beta.2", Satisfied::no},
    {"1.2.3-beta.10", "^1.2.3-beta.2", Satisfied::yes},
    {"1.2.4-alpha", "^1.2.3-beta.2", Satisfied::yes},
    {"1.2.3", "1.2.3 - 2.3.4", Satisfied::yes},
    {"2.3.4", "1.2.3 - 2.3.4", Satisfied::yes},
    {"2.3.5", "1.2.3 - 2.3.4", Satisfied::no},
    {"1.2.3-0", "1.2.3 - 2.3.4", Satisfied::yes},
    {"2.3.4+build", "1.2.3 - 2.3.4", Satisfied::yes},
    {"2.3.9", "1.2 - 2.3", Satisfied::yes},
    {"2.4.0", "1.2 - 2.3", Satisfied::no},
    {"1.1.9", "1.2 - 2.3", Satisfied::no},
    {"2.9.9", "1 - 2", Satisfied::yes},
    {"3.0.0-0", "1 - 2", Satisfied::no},
    {"1.9.9", ">1", Satisfied::no},
    {"2.0.0-0", ">1", Satisfied::yes},
    {"1.2.9", ">1.2", Satisfied::no},
    {"1.3.0", ">1.2", Satisfied::yes},
    {"1.2.9", "<=1.2", Satisfied::yes},
    {"1.3.0-0", "<=1.2", Satisfied::no},
    {"1.2.0-0", "<1.2", Satisfied::no},
    {"1.1.9", "<1.2", Satisfied::yes},
    {"1.2.0-0", ">=1.2", Satisfied::yes},
    {"1.0.0", ">*", Satisfied::no},
    {"1.0.0", "<x", Satisfied::no},
    {"18.0.0", ">= 18", Satisfied::yes},
    {"17.9.9", ">= 18", Satisfied::no},
    {"14.18.0", ">=v14.18.0", Satisfied::yes},
    {"22.1.0", "v22", Satisfied::yes},
    {"21.0.0", "v22", Satisfied::no},
    {"1.2.3", "=1.2.3", Satisfied::yes},
    {"1.2.4", "=1.2.3", Satisfied::no},
    {"1.2.5", "==1.2", Satisfied::yes},
    {"1.2.3", "==1.2.3", Satisfied::no},
    {"1.2.4", "> = 1.2.3", Satisfied::no},
    {"14.17.0", "^12.22.0 || ^14.17.0 || >=16.0.0", Satisfied::yes},
    {"15.0.0", "^12.22.0 || ^14.17.0 || >=16.0.0", Satisfied::no},
    {"20.20.2", "^12.22.0 || ^14.17.0 || >=16.0.0", Satisfied::yes},
    {"14.18.0", ">=16 || 14 >=14.17", Satisfied::yes},
    {"14.16.0", ">=16 || 14 >=14.17", Satisfied::no},
    {"20.0.0", ">=16 || 14 >=14.17", Satisfied::yes},
    {"18.19.0", ">=14.18.1 <=18.x", Satisfied::yes},
    {"19.0.0", ">=14.18.1 <=18.x", Satisfied::no},
    {"7.0.0", "6.* || 8.* || >= 10.*", Satisfied::no},
    {"8.1.0", "6.* || 8.* || >= 10.*", Satisfied::yes},
    {"12.0.0", "6.* || 8.* || >= 10.*", Satisfied::yes},
    {"7.5.0", ">=6 <7 || >=8", Satisfied::no},
    {"6.9.0", ">=6 <7 || >=8", Satisfied::yes},
    {"13.2.0", ">=13.2.x", Satisfied::yes},
    {"1.2.3", "1.2.3+build", Satisfied::yes},
    {"1.2.4", "1.2.3+build", Satisfied::no},
    {"9.9.9", "1.2.3 ||", Satisfied::yes},
    {"1.2.3", "garbage", Satisfied::no},
    {"1.2.3", "1.2.3.4", Satisfied::no},
    {"1.2.3", "01.2.3", Satisfied::no},
    {"not a version", ">=1.0.0", Satisfied::no},
    {"1.2", ">=1.0.0", Satisfied::no},
    {"v1.2.3", ">=1.0.0", Satisfied::yes},
    {" 1.2.3 ", ">=1.0.0", Satisfied::yes},
    {"1.2.3-01", ">=1.0.0", Satisfied::no},
    {"1.2.3", "<=*1.2.3", Satisfied::yes},
    {"1.0.0", "<=*1.2.3", Satisfied::no},
    {"1.2.9", "~ > 1.2", Satisfied::yes},
};

TEST(Semver, AgreesWithNodeSemverOnWhatSatisfiesARange) {
  for (const Case& c : k_cases)
    EXPECT_EQ(satisfies(c.version, c.range), c.expected == Satisfied::yes) << c.version << " in " << c.range;
}

TEST(Semver, KnowsWhichRangesAreValid) {
  for (const char* range : {"", "*", "1.2.3", "^1 || ~2", "1 - 2", "~x.1", "||", ">= 1", ">=v18"})
    EXPECT_TRUE(is_valid_range(range)) << range;
  for (const char* range : {">=", "garbage", "1.2.3.4", "x.1", "1.x.3", ">= v 1.2.3", "1.2.3-01", "9007199254740992"})
    EXPECT_FALSE(is_valid_range(range)) << range;
}

}  // namespace
}  // namespace pfnm
