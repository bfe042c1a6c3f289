// SQLite behind values: a database, a statement. An error carries SQLite's own words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "nmstore/base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace pfnm {

enum class OpenMode { read, create };

class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement, &finalize) {}
  // Parameters from 1 on.
  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, std::int64_t number);
  // True: a row is there. An error is SQLite's.
  [[nodiscard]] Result<bool> step();
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t number(int column) const;

 private:
  static void finalize(sqlite3_stmt* statement);
  std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*)> statement_;
};

class Database {
 public:
  // Waits up to five seconds for another process's write. Errc::not_found where it is not there and not to be created.
  [[nodiscard]] static Result<Database> open(const std::string& path, OpenMode mode);
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  [[nodiscard]] Status run(std::string_view sql);  // no parameters, no rows
  [[nodiscard]] std::int64_t last_id() const;

 private:
  explicit Database(sqlite3* database) : database_(database, &close) {}
  static void close(sqlite3* database);
  std::unique_ptr<sqlite3, void (*)(sqlite3*)> database_;
};

}  // namespace pfnm
