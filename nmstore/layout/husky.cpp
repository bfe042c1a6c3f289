#include "nmstore/layout/husky.hpp"

#include <fcntl.h>

#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

bool is_dir(const std::string& path) {
  const auto st = find_stat(AT_FDCWD, path);
  return st.has_value() && *st && (*st)->is_dir();
}

Status copy_runner(const Fs& fs, const std::string& from, const std::string& staging) {
  PFNM_TRY(fs.make_dir(AT_FDCWD, staging));
  // First of all, so that git sees nothing of the rest.
  PFNM_TRY(fs.create_file(AT_FDCWD, staging + "/.gitignore", "*\n"));
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, from));
  for (const DirEntry& entry : entries) {
    if (entry.type != FileType::regular || entry.name == ".gitignore") continue;
    PFNM_TRY_ASSIGN(const FileStat st, stat_at(AT_FDCWD, from + "/" + entry.name));
    auto copied = fs.copy_file(AT_FDCWD, from + "/" + entry.name, AT_FDCWD, staging + "/" + entry.name, st.mode & 0777U);
    if (!copied.has_value()) return fail(copied.error());
  }
  return {};
}

}  // namespace

HuskyRunner survey_husky(const std::string& worktree) {
  const std::string husky = worktree + "/.husky";
  return is_dir(husky) && !is_dir(husky + "/_") ? HuskyRunner::missing : HuskyRunner::complete;
}

Status provision_husky(const Fs& fs, const std::string& worktree, const std::string& common_dir) {
  if (survey_husky(worktree) == HuskyRunner::complete || !common_dir.ends_with("/.git")) return {};
  const std::string from = common_dir.substr(0, common_dir.size() - 5) + "/.husky/_";
  if (!is_dir(from)) return {};
  const std::string staging = worktree + "/.husky/" + unique_name(".pfnm-new-");
  auto copied = copy_runner(fs, from, staging);
  if (copied.has_value()) copied = fs.rename(AT_FDCWD, staging, AT_FDCWD, worktree + "/.husky/_");
  if (copied.has_value()) return {};
  std::ignore = remove_tree(fs, AT_FDCWD, staging);  // the copy's error is the news
  return is_dir(worktree + "/.husky/_") ? Status{} : copied;
}

}  // namespace pfnm
