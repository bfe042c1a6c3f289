#include "nmstore/db/ledger.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/scratch.hpp"

namespace pfnm {
namespace {

using ::testing::IsEmpty;

class LedgerFile : public test::ScratchTest {
 protected:
  [[nodiscard]] Ledger open(OpenMode mode = OpenMode::create) const {
    auto ledger = Ledger::open(file_, mode);
    if (!ledger.has_value()) throw std::runtime_error(ledger.error().message());
    return std::move(*ledger);
  }
  static LedgerEntry entry(std::int64_t run, const std::string& subject, const std::string& store = "/s") {
    LedgerEntry entry;
    entry.run = run;
    entry.store = store;
    entry.step = "reclaim";
    entry.subject = subject;
    entry.bytes = 1'000'000'000'000;
    entry.intended_at = 10;
    return entry;
  }

  std::string file_ = at("ledger.db");
};

TEST_F(LedgerFile, KeepsWhatWasIntendedAndWhatBecameOfIt) {
  {
    Ledger ledger = open();
    const auto run = ledger.begin_run("/s", 5);
    ASSERT_TRUE(run.has_value());
    const auto id = ledger.intend(entry(*run, "key"));
    ASSERT_TRUE(id.has_value());
    ASSERT_TRUE(ledger.end(*id, "trashed", "t-1", 11).has_value());
    ASSERT_TRUE(ledger.note_step(*run, "start: batch 256", 6).has_value());
    ASSERT_TRUE(ledger.end_run(*run, "done", 77, 12).has_value());
  }
  Ledger ledger = open(OpenMode::read);
  const auto runs = ledger.runs(10);
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().store, "/s");
  EXPECT_EQ(runs->front().started_at, 5);
  EXPECT_EQ(runs->front().ended_at, 12);
  EXPECT_EQ(runs->front().result, "done");
  EXPECT_EQ(runs->front().freed_bytes, 77U);
  const auto entries = ledger.entries_of(runs->front().id);
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->front().step, "reclaim");
  EXPECT_EQ(entries->front().subject, "key");
  EXPECT_EQ(entries->front().bytes, 1'000'000'000'000U);
  EXPECT_EQ(entries->front().intended_at, 10);
  EXPECT_EQ(entries->front().ended_at, 11);
  EXPECT_EQ(entries->front().outcome, "trashed");
  EXPECT_EQ(entries->front().detail, "t-1");
}

TEST_F(LedgerFile, AnIntentWithoutAnOutcomeIsUnfinished) {
  Ledger ledger = open();
  const auto run = ledger.begin_run("/s", 5);
  const auto a = ledger.intend(entry(*run, "a"));
  const auto b = ledger.intend(entry(*run, "b"));
  std::ignore = ledger.intend(entry(*run, "c", "/another"));
  ASSERT_TRUE(ledger.end(*a, "trashed", "", 11).has_value());
  auto unfinished = ledger.unfinished("/s");
  ASSERT_TRUE(unfinished.has_value());
  ASSERT_EQ(unfinished->size(), 1U) << "another store's is that store's matter";
  EXPECT_EQ(unfinished->front().id, *b);
  EXPECT_EQ(unfinished->front().subject, "b");
  ASSERT_TRUE(ledger.end(*b, "trashed", "found by the next run", 12).has_value());
  unfinished = ledger.unfinished("/s");
  EXPECT_THAT(*unfinished, IsEmpty());
}

TEST_F(LedgerFile, TellsTheNewestRunsFirst) {
  Ledger ledger = open();
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(ledger.begin_run("/s", i).has_value());
  const auto runs = ledger.runs(2);
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[0].started_at, 5);
  EXPECT_EQ((*runs)[1].started_at, 4);
}

TEST_F(LedgerFile, TakesAnyText) {
  Ledger ledger = open();
  const auto run = ledger.begin_run("/s'); DROP TABLE runs; --", 5);
  ASSERT_TRUE(run.has_value());
  const std::string strange = "it's \"x\"\n; \xC3\xA9";
  ASSERT_TRUE(ledger.intend(entry(*run, strange)).has_value());
  EXPECT_EQ(ledger.entries_of(*run)->front().subject, strange);
}

TEST_F(LedgerFile, OpenedTwiceAtOnceIsOneLedger) {
  Ledger first = open();
  Ledger second = open();
  const auto run = first.begin_run("/s", 5);
  ASSERT_TRUE(second.intend(entry(*run, "a")).has_value());
  EXPECT_EQ(first.unfinished("/s")->size(), 1U);
}

TEST_F(LedgerFile, ReadingMakesNone) {
  const auto ledger = Ledger::open(file_, OpenMode::read);
  ASSERT_FALSE(ledger.has_value());
  EXPECT_EQ(ledger.error().code, Errc::not_found);
  EXPECT_FALSE(test::exists(file_));
}

TEST_F(LedgerFile, IsLeftAloneWhereANewerPfnmMadeIt) {
  std::ignore = open();
  {
    auto database = Database::open(file_, OpenMode::create);
    ASSERT_TRUE(database->run("PRAGMA user_version = 2").has_value());
  }
  const auto ledger = Ledger::open(file_);
  ASSERT_FALSE(ledger.has_value());
  EXPECT_EQ(ledger.error().code, Errc::unsupported);
}

TEST_F(LedgerFile, WhatIsNoDatabaseIsAnErrorAndStays) {
  test::write_text(file_,
                   "years of work, and longer than a header of sqlite, which has a hundred bytes ..............");
  const std::string before = test::read_text(file_);
  EXPECT_FALSE(Ledger::open(file_).has_value());
  EXPECT_EQ(test::read_text(file_), before);
}

}  // namespace
}  // namespace pfnm
