#include "nmstore/reclaim/pacer.hpp"

#include <gmock/gmock.h>

#include <random>

namespace pfnm {
namespace {

using ::testing::HasSubstr;

const PacerPolicy k_policy;
constexpr PacerSample k_quick{100, 1, 2, 1};

TEST(Pacing, StartsWith256OnAFastVolume) {
  const Pacer pacer(k_policy, 1, 4);
  EXPECT_EQ(pacer.current().pace, Pace::start);
  EXPECT_EQ(pacer.current().batch, 256U);
  EXPECT_EQ(pacer.current().pause_ms, 0);
}

TEST(Pacing, StartsSmallerWhereTheFirstAnswersAreSlow) {
  EXPECT_EQ(Pacer(k_policy, 1, 10).current().batch, 256U);
  EXPECT_EQ(Pacer(k_policy, 1, 11).current().batch, 32U);
  EXPECT_EQ(Pacer(k_policy, 1, 51).current().batch, 16U);
  EXPECT_EQ(Pacer(k_policy, 250, 100'000).current().pace, Pace::start);
}

TEST(Pacing, DoesNotStartOnAVolumeThatIsStalled) {
  const Pacer pacer(k_policy, 251, 1);
  EXPECT_EQ(pacer.current().pace, Pace::stop);
  EXPECT_EQ(pacer.current().batch, 0U);
  EXPECT_THAT(pacer.current().why, HasSubstr("251 ms"));
}

TEST(Pacing, GrowsByAnEighthWhileEverythingIsQuick) {
  Pacer pacer(k_policy, 1, 4);
  EXPECT_EQ(pacer.next(k_quick).batch, 288U);
  EXPECT_EQ(pacer.current().pace, Pace::grow);
  for (int i = 0; i < 100; ++i) pacer.next(k_quick);
  EXPECT_EQ(pacer.current().batch, 2048U);
  EXPECT_EQ(pacer.current().pace, Pace::hold);
}

TEST(Pacing, StaysSmallWhereACommitIsSlow) {
  Pacer pacer(k_policy, 1, 5);
  for (int i = 0; i < 100; ++i) pacer.next(k_quick);
  EXPECT_EQ(pacer.current().batch, 256U) << "of a larger one a ref write would hear";
}

TEST(Pacing, GrowsByOneNearTheTarget) {
  Pacer pacer(k_policy, 1, 4);
  EXPECT_EQ(pacer.next({256, 10, 30, 1}).batch, 257U);
  EXPECT_EQ(pacer.next({256, 10, 1, 60}).batch, 258U);
}

TEST(Pacing, ShrinksWherePayingTakesTooLong) {
  Pacer pacer(k_policy, 1, 4);
  EXPECT_EQ(pacer.next({256, 10, 61, 1}).batch, 192U);
  EXPECT_EQ(pacer.current().pace, Pace::shrink);
  EXPECT_EQ(pacer.next({192, 501, 1, 1}).batch, 144U);
  EXPECT_EQ(pacer.current().pause_ms, 0);
}

TEST(Pacing, HalvesAndPausesWhereARefWriteIsSlow) {
  Pacer pacer(k_policy, 1, 4);
  EXPECT_EQ(pacer.next({256, 10, 10, 250}).pace, Pace::grow) << "up to 250 ms is fine";
  Pacer slow(k_policy, 1, 4);
  EXPECT_EQ(slow.next({256, 10, 10, 251}).pace, Pace::back_off);
  EXPECT_EQ(slow.current().batch, 128U);
  EXPECT_EQ(slow.current().pause_ms, 100);
  EXPECT_EQ(slow.next({128, 10, 10, 1000}).pace, Pace::back_off);
  EXPECT_EQ(slow.current().batch, 64U);
  EXPECT_EQ(slow.current().pause_ms, 200);
  for (int i = 0; i < 20; ++i) slow.next({8, 10, 10, 300});
  EXPECT_EQ(slow.current().batch, 8U);
  EXPECT_EQ(slow.current().pause_ms, 2000);
}

TEST(Pacing, RecoversItsPauseStepByStep) {
  Pacer pacer(k_policy, 1, 4);
  pacer.next({256, 1, 1, 300});
  EXPECT_EQ(pacer.next(k_quick).pause_ms, 50);
  EXPECT_EQ(pacer.next(k_quick).pause_ms, 0);
  EXPECT_EQ(pacer.next(k_quick).pause_ms, 0);
}

TEST(Pacing, StopsAboveOneSecond) {
  Pacer pacer(k_policy, 1, 4);
  EXPECT_EQ(pacer.next({256, 1, 1, 1001}).pace, Pace::stop);
  EXPECT_THAT(pacer.current().why, HasSubstr("1001 ms"));
}

// Nothing that a volume may answer gets it out of its limits, and each step goes where its sample says.
TEST(Pacing, NeverLeavesItsLimits) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<std::int64_t> deep(0, 3000);
    std::uniform_int_distribution<int> kind(0, 3);
    const auto milliseconds = [&]() -> std::int64_t {
      constexpr std::array<std::int64_t, 4> k_most{5, 80, 400, 1000};
      return std::uniform_int_distribution<std::int64_t>(0, k_most.at(static_cast<std::size_t>(kind(random))))(random);
    };
    Pacer pacer(k_policy, 1, deep(random));
    for (int i = 0; i < 300; ++i) {
      const PacerStep before = pacer.current();
      const PacerSample sample{before.batch, milliseconds(), milliseconds(), milliseconds()};
      const PacerStep& step = pacer.next(sample);
      ASSERT_GE(step.batch, k_policy.smallest_batch) << seed;
      ASSERT_LE(step.batch, k_policy.largest_batch) << seed;
      ASSERT_GE(step.pause_ms, 0) << seed;
      ASSERT_LE(step.pause_ms, k_policy.longest_pause_ms) << seed;
      ASSERT_FALSE(step.why.empty()) << seed;
      ASSERT_NE(step.pace, Pace::stop) << seed << ": up to one second is no stall";
      if (sample.felt_ms > k_policy.soft_ms) {
        ASSERT_EQ(step.pace, Pace::back_off) << seed;
        ASSERT_LE(step.batch, std::max(k_policy.smallest_batch, before.batch / 2)) << seed;
        ASSERT_GE(step.pause_ms, before.pause_ms) << seed;
      } else {
        ASSERT_LE(step.batch, before.batch + std::max<std::uint32_t>(1, before.batch / 8)) << seed;
        ASSERT_LE(step.pause_ms, before.pause_ms) << seed;
      }
      if (sample.unlink_ms > k_policy.longest_batch_ms) {
        ASSERT_LE(step.batch, std::max(8U, before.batch)) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace pfnm
