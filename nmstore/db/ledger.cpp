#include "nmstore/db/ledger.hpp"

namespace pfnm {
namespace {

constexpr std::int64_t k_schema = 1;

constexpr std::string_view k_tables = R"sql(
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS runs(
  id INTEGER PRIMARY KEY, store TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0,
  result TEXT NOT NULL DEFAULT '', freed_bytes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS entries(
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs(id), store TEXT NOT NULL, step TEXT NOT NULL,
  subject TEXT NOT NULL, bytes INTEGER NOT NULL, intended_at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0,
  outcome TEXT NOT NULL DEFAULT '', detail TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS entries_run ON entries(run);
CREATE INDEX IF NOT EXISTS entries_unfinished ON entries(store) WHERE ended_at = 0;
CREATE TABLE IF NOT EXISTS steps(run INTEGER NOT NULL REFERENCES runs(id), at INTEGER NOT NULL, decision TEXT NOT NULL);
PRAGMA user_version = 1;
COMMIT;
)sql";

constexpr std::string_view k_entry_columns =
    "SELECT id, run, store, step, subject, bytes, intended_at, ended_at, outcome, detail FROM entries ";

Status finish(Statement& statement) {
  PFNM_TRY_ASSIGN(const bool row, statement.step());
  std::ignore = row;
  return {};
}

Result<std::vector<LedgerEntry>> read_entries(Statement& statement) {
  std::vector<LedgerEntry> entries;
  while (true) {
    PFNM_TRY_ASSIGN(const bool row, statement.step());
    if (!row) return entries;
    entries.push_back({statement.number(0), statement.number(1), statement.text(2), statement.text(3), statement.text(4),
                       static_cast<std::uint64_t>(statement.number(5)), statement.number(6), statement.number(7),
                       statement.text(8), statement.text(9)});
  }
}

}  // namespace

Result<Ledger> Ledger::open(const std::string& path, OpenMode mode) {
  PFNM_TRY_ASSIGN(Database database, Database::open(path, mode));
  Ledger ledger(std::move(database));
  PFNM_TRY(ledger.migrate(mode));
  return ledger;
}

Status Ledger::migrate(OpenMode mode) {
  PFNM_TRY_ASSIGN(Statement version, database_.prepare("PRAGMA user_version"));
  PFNM_TRY_ASSIGN(const bool row, version.step());
  const std::int64_t found = row ? version.number(0) : 0;
  if (found > k_schema)
    return fail(Error::make(Errc::unsupported, "use", "the ledger", "a newer pfnm made it", "use that version"));
  if (found == k_schema || mode == OpenMode::read) return {};
  // An intent must be on the disk before what it announces: full synchronisation, which is the default of a rollback
  // journal.
  return database_.run(k_tables);
}

Result<std::int64_t> Ledger::begin_run(const std::string& store, std::int64_t now) {
  PFNM_TRY_ASSIGN(Statement insert, database_.prepare("INSERT INTO runs(store, started_at) VALUES(?1, ?2)"));
  PFNM_TRY(finish(insert.bind(1, store).bind(2, now)));
  return database_.last_id();
}

Status Ledger::end_run(std::int64_t run, const std::string& result, std::uint64_t freed_bytes, std::int64_t now) {
  PFNM_TRY_ASSIGN(Statement update,
                  database_.prepare("UPDATE runs SET result = ?2, freed_bytes = ?3, ended_at = ?4 WHERE id = ?1"));
  return finish(update.bind(1, run).bind(2, result).bind(3, static_cast<std::int64_t>(freed_bytes)).bind(4, now));
}

Result<std::int64_t> Ledger::intend(const LedgerEntry& entry) {
  PFNM_TRY_ASSIGN(Statement insert,
                  database_.prepare("INSERT INTO entries(run, store, step, subject, bytes, intended_at) "
                                    "VALUES(?1, ?2, ?3, ?4, ?5, ?6)"));
  insert.bind(1, entry.run).bind(2, entry.store).bind(3, entry.step).bind(4, entry.subject);
  PFNM_TRY(finish(insert.bind(5, static_cast<std::int64_t>(entry.bytes)).bind(6, entry.intended_at)));
  return database_.last_id();
}

Status Ledger::end(std::int64_t entry, const std::string& outcome, const std::string& detail, std::int64_t now) {
  PFNM_TRY_ASSIGN(Statement update,
                  database_.prepare("UPDATE entries SET outcome = ?2, detail = ?3, ended_at = ?4 WHERE id = ?1"));
  return finish(update.bind(1, entry).bind(2, outcome).bind(3, detail).bind(4, now));
}

Status Ledger::note_step(std::int64_t run, const std::string& decision, std::int64_t now) {
  PFNM_TRY_ASSIGN(Statement insert, database_.prepare("INSERT INTO steps(run, at, decision) VALUES(?1, ?2, ?3)"));
  return finish(insert.bind(1, run).bind(2, now).bind(3, decision));
}

Result<std::vector<LedgerEntry>> Ledger::unfinished(const std::string& store) {
  PFNM_TRY_ASSIGN(Statement select, database_.prepare(std::string(k_entry_columns) +
                                                      "WHERE ended_at = 0 AND store = ?1 ORDER BY id"));
  select.bind(1, store);
  return read_entries(select);
}

Result<std::vector<LedgerRun>> Ledger::runs(std::int64_t limit) {
  PFNM_TRY_ASSIGN(Statement select, database_.prepare("SELECT id, store, started_at, ended_at, result, freed_bytes "
                                                      "FROM runs ORDER BY id DESC LIMIT ?1"));
  select.bind(1, limit);
  std::vector<LedgerRun> runs;
  while (true) {
    PFNM_TRY_ASSIGN(const bool row, select.step());
    if (!row) return runs;
    runs.push_back({select.number(0), select.text(1), select.number(2), select.number(3), select.text(4),
                    static_cast<std::uint64_t>(select.number(5))});
  }
}

Result<std::vector<LedgerEntry>> Ledger::entries_of(std::int64_t run) {
  PFNM_TRY_ASSIGN(Statement select, database_.prepare(std::string(k_entry_columns) + "WHERE run = ?1 ORDER BY id"));
  select.bind(1, run);
  return read_entries(select);
}

}  // namespace pfnm
