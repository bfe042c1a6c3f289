// The ledger: what pfnm set out to delete, and what became of it (SPEC 7, 8). An intent is written before anything is
// touched and its outcome after; an intent without an outcome tells the next run what was interrupted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/db/sqlite.hpp"

namespace pfnm {

struct LedgerEntry {
  std::int64_t id = 0;
  std::int64_t run = 0;
  std::string store;
  std::string step;     // "settle", "reclaim", "remove"
  std::string subject;  // a key, or an id of the trash
  std::uint64_t bytes = 0;
  std::int64_t intended_at = 0;  // seconds since the epoch
  std::int64_t ended_at = 0;     // 0: no outcome is known
  std::string outcome;
  std::string detail;
};

struct LedgerRun {
  std::int64_t id = 0;
  std::string store;
  std::int64_t started_at = 0;
  std::int64_t ended_at = 0;
  std::string result;  // "done", "blind", "stalled: ...", ...; empty: it was interrupted
  std::uint64_t freed_bytes = 0;
};

class Ledger {
 public:
  // Makes the file and its tables where they are missing. Errc::unsupported where a newer pfnm made it.
  [[nodiscard]] static Result<Ledger> open(const std::string& path, OpenMode mode = OpenMode::create);

  [[nodiscard]] Result<std::int64_t> begin_run(const std::string& store, std::int64_t now);
  [[nodiscard]] Status end_run(std::int64_t run, const std::string& result, std::uint64_t freed_bytes, std::int64_t now);
  [[nodiscard]] Result<std::int64_t> intend(const LedgerEntry& entry);
  [[nodiscard]] Status end(std::int64_t entry, const std::string& outcome, const std::string& detail, std::int64_t now);
  [[nodiscard]] Status note_step(std::int64_t run, const std::string& decision, std::int64_t now);  // of the pacer

  [[nodiscard]] Result<std::vector<LedgerEntry>> unfinished(const std::string& store);
  // The newest first.
  [[nodiscard]] Result<std::vector<LedgerRun>> runs(std::int64_t limit);
  [[nodiscard]] Result<std::vector<LedgerEntry>> entries_of(std::int64_t run);

 private:
  explicit Ledger(Database database) : database_(std::move(database)) {}
  Status migrate(OpenMode mode);
  Database database_;
};

}  // namespace pfnm
