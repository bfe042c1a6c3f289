// Real locks: the folder is named by PFNM_CORPUS; its INDEX.tsv says what each lock holds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "nmstore/lock/closure.hpp"
#include "nmstore/lock/lock_key.hpp"

namespace pfnm {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> columns(const std::string& line) {
  std::vector<std::string> parts;
  std::stringstream in(line);
  for (std::string part; std::getline(in, part, '\t');) parts.push_back(part);
  return parts;
}

void check(const fs::path& folder, const std::vector<std::string>& row) {
  SCOPED_TRACE(row.back());
  const auto lock = parse_npm_lock(content(folder / row.back() / "package-lock.json"), "package-lock.json");
  if (row[5] == "?") {
    ASSERT_FALSE(lock.has_value());
    EXPECT_NE(lock.error().reason.find("conflict markers"), std::string::npos);
    return;
  }
  if (row[6].find("dir outside project root") != std::string::npos) {
    ASSERT_FALSE(lock.has_value());
    EXPECT_NE(lock.error().reason.find("leaves the project"), std::string::npos);
    return;
  }
  ASSERT_TRUE(lock.has_value()) << lock.error().message();
  EXPECT_EQ(std::to_string(lock->lockfile_version), row[5]);
  const std::size_t packages = lock->lockfile_version == 1 ? lock->ancient_package_count : lock->entries.size();
  EXPECT_EQ(std::to_string(packages), row[4]);
  EXPECT_TRUE(packages_reaching_workspaces(*lock).empty());  // npm.md 1.5: none in the corpus
}

TEST(LockCorpus, EveryRealLockReadsAsItsIndexSays) {
  const char* folder = std::getenv("PFNM_CORPUS");
  std::error_code unreadable;  // a folder in root's home, say, which the tests' own user cannot enter
  if (folder == nullptr || !fs::exists(fs::path(folder) / "INDEX.tsv", unreadable))
    GTEST_SKIP() << "PFNM_CORPUS does not name a folder of locks with an INDEX.tsv";
  std::ifstream index(fs::path(folder) / "INDEX.tsv");
  std::string line;
  std::getline(index, line);  // the header
  std::size_t checked = 0;
  while (std::getline(index, line)) {
    const std::vector<std::string> row = columns(line);
    if (row.size() < 8 || !fs::exists(fs::path(folder) / row.back() / "package-lock.json")) continue;
    check(folder, row);
    ++checked;
  }
  EXPECT_GT(checked, 0U);
}

}  // namespace
}  // namespace pfnm
