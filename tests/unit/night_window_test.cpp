#include "nmstore/reclaim/night_window.hpp"

#include <gmock/gmock.h>

namespace pfnm {
namespace {

constexpr std::int64_t k_midnight = 20'000LL * 24 * 3600;
constexpr std::int64_t at(int hours, int minutes, int seconds = 0) {
  return k_midnight + hours * 3600 + minutes * 60 + seconds;
}

NightWindow window(const char* text) {
  const auto parsed = NightWindow::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(NightWindow{0, 0});
}

TEST(Window, IsHalfOpen) {
  const NightWindow nightly;
  EXPECT_FALSE(nightly.contains(at(7, 59, 59)));
  EXPECT_TRUE(nightly.contains(at(8, 0)));
  EXPECT_TRUE(nightly.contains(at(10, 59, 59)));
  EXPECT_FALSE(nightly.contains(at(11, 0)));
}

TEST(Window, MayPassMidnight) {
  const NightWindow late = window("22:30-04:15");
  EXPECT_FALSE(late.contains(at(22, 29, 59)));
  EXPECT_TRUE(late.contains(at(22, 30)));
  EXPECT_TRUE(late.contains(at(0, 0)));
  EXPECT_TRUE(late.contains(at(4, 14, 59)));
  EXPECT_FALSE(late.contains(at(4, 15)));
  EXPECT_FALSE(late.contains(at(12, 0)));
}

TEST(Window, MayBeTheWholeDayOrNever) {
  const NightWindow always = window("00:00-24:00");
  const NightWindow never = window("03:00-03:00");
  for (int hour = 0; hour < 24; ++hour) {
    EXPECT_TRUE(always.contains(at(hour, 0))) << hour;
    EXPECT_FALSE(never.contains(at(hour, 0))) << hour;
  }
  EXPECT_EQ(never.next_opening(at(3, 0)), std::nullopt);
  EXPECT_EQ(always.next_opening(at(3, 0)), at(3, 0));
}

TEST(Window, SaysWhenItOpensNext) {
  const NightWindow nightly;
  EXPECT_EQ(nightly.next_opening(at(7, 0)), at(8, 0));
  EXPECT_EQ(nightly.next_opening(at(9, 30)), at(9, 30));
  EXPECT_EQ(nightly.next_opening(at(11, 0)), at(32, 0));
  EXPECT_EQ(window("22:30-04:15").next_opening(at(5, 0)), at(22, 30));
}

// What next_opening says is open, and nothing before it is.
TEST(Window, NextOpeningAgreesWithContains) {
  for (const char* text : {"08:00-11:00", "22:30-04:15", "23:59-00:00", "00:00-00:01", "12:00-11:59", "01:00-24:00"}) {
    const NightWindow tested = window(text);
    for (std::int64_t now = at(0, 0, 7); now < at(24, 0); now += 601) {
      const auto next = tested.next_opening(now);
      ASSERT_TRUE(next) << text;
      EXPECT_GE(*next, now) << text;
      EXPECT_LE(*next - now, 24 * 3600) << text;
      EXPECT_TRUE(tested.contains(*next)) << text << " at " << now - k_midnight;
      if (*next > now) {
        EXPECT_FALSE(tested.contains(*next - 1)) << text << " at " << now - k_midnight;
      }
      for (std::int64_t before = now; before < *next; before += 60) ASSERT_FALSE(tested.contains(before)) << text;
    }
  }
}

TEST(Window, ReadsTimesBefore1970) {
  EXPECT_TRUE(NightWindow{}.contains(-24 * 3600 + 9 * 3600));
  EXPECT_FALSE(NightWindow{}.contains(-1));
}

TEST(Window, TakesNothingButHoursAndMinutes) {
  for (const char* bad : {"", "8:00-11:00", "08:00", "08:00-11:0", "08:00-11:000", "08:00 11:00", "0800-1100",
                          "08:60-11:00", "25:00-26:00", "08:00-24:01", "24:00-08:00", "-8:00-11:00", "08:00-11:00 ",
                          " 08:00-11:00", "0a:00-11:00", "08:00-1b:00", "08.00-11.00", "never"})
    EXPECT_FALSE(NightWindow::parse(bad)) << bad;
}

}  // namespace
}  // namespace pfnm
