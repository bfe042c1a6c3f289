#include "nmstore/db/sqlite.hpp"

#include <sqlite3.h>

namespace pfnm {
namespace {

tl::unexpected<Error> failed(sqlite3* database, std::string_view operation, std::string_view what) {
  const int code = sqlite3_errcode(database);
  const Errc errc = code == SQLITE_BUSY || code == SQLITE_LOCKED ? Errc::busy
                    : code == SQLITE_FULL                        ? Errc::no_space
                    : code == SQLITE_CANTOPEN                    ? Errc::not_found
                    : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? Errc::corrupt
                    : code == SQLITE_READONLY                    ? Errc::read_only
                                                                 : Errc::io;
  return fail(Error::make(errc, operation, what, sqlite3_errmsg(database)));
}

}  // namespace

void Statement::finalize(sqlite3_stmt* statement) { sqlite3_finalize(statement); }

Statement& Statement::bind(int index, std::string_view text) {
  sqlite3_bind_text(statement_.get(), index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(int index, std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), index, number);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failed(sqlite3_db_handle(statement_.get()), "write or read", "the database");
}

std::string Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_.get(), column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(statement_.get(), column); }

void Database::close(sqlite3* database) { sqlite3_close(database); }

Result<Database> Database::open(const std::string& path, OpenMode mode) {
  sqlite3* raw = nullptr;
  const int flags = mode == OpenMode::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) return failed(raw, "open the database", path);
  sqlite3_busy_timeout(raw, 5000);
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  if (code != SQLITE_OK) return failed(database_.get(), "prepare", sql);
  return Statement(raw);
}

Status Database::run(std::string_view sql) {
  const std::string text(sql);
  if (sqlite3_exec(database_.get(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return failed(database_.get(), "run", sql);
  return {};
}

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(database_.get()); }

}  // namespace pfnm
