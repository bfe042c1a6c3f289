#include "nmstore/store/store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "nmstore/platform/read.hpp"
#include "nmstore/store/line_file.hpp"

namespace pfnm {
namespace {

constexpr int k_format = 1;

// The store may be reached through a link (a home directory often is); what counts is the directory it leads to.
Result<FileStat> stat_root(const std::string& root) {
  const Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open the store", root);
  return stat_fd(fd.get(), root);
}

Status check_owner(const std::string& root, const FileStat& st) {
  if (st.uid == ::geteuid()) return {};
  return fail(Error::make(Errc::refused, "use the store", root, "it belongs to another user (uid " +
                                                                     std::to_string(st.uid) + ")",
                          "set PFNM_STORE to a directory of your own"));
}

Status check_format(const StorePaths& paths) {
  PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, paths.format_file()));
  if (!text) return fail(Error::make(Errc::not_found, "use the store", paths.root(), "it was never set up"));
  auto lines = parse_lines(*text, "store", k_format, paths.format_file());
  if (!lines.has_value()) {
    return fail(Error::make(Errc::unsupported, "use the store", paths.root(),
                            "it was made by another version of pfnm",
                            "use that version, or set PFNM_STORE to a new directory"));
  }
  return {};
}

// A directory that pfnm never used may become a store if it is empty, or holds only what an older helper at the same
// path would have put there: directories named by a lock's digest.
Status check_adoptable(const std::string& root) {
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, root));
  for (const DirEntry& entry : entries) {
    if (InstallName::parse(entry.name) || entry.name == ".pf") continue;
    return fail(Error::make(Errc::refused, "use the store", root,
                            "it is not a pfnm store: it holds \"" + entry.name + "\"",
                            "set PFNM_STORE to a new or empty directory"));
  }
  return {};
}

Result<bool> holds_intent(const Store& store, const InstallName& name) {
  PFNM_TRY_ASSIGN(const auto st, find_stat(AT_FDCWD, intent_file(store.paths.install(name))));
  return st.has_value();
}

}  // namespace

Result<Store> open_store(const std::string& root) {
  PFNM_TRY_ASSIGN(const FileStat st, stat_root(root));
  PFNM_TRY(check_owner(root, st));
  Store store{StorePaths(root)};
  PFNM_TRY(check_format(store.paths));
  return store;
}

Result<Store> create_store(const Fs& fs, const std::string& root) {
  auto opened = open_store(root);
  if (opened.has_value() || opened.error().code != Errc::not_found) return opened;
  if (const auto existing = stat_root(root); existing.has_value()) {
    PFNM_TRY(check_owner(root, *existing));
    PFNM_TRY(check_adoptable(root));
    if ((existing->mode & 0777U) != 0700U) PFNM_TRY(fs.set_mode(AT_FDCWD, root, 0700));
  } else if (existing.error().sys_errno != ENOENT) {
    return fail(existing.error());
  } else {
    const std::string parent = root.substr(0, root.find_last_of('/'));
    if (!parent.empty()) PFNM_TRY(fs.ensure_dirs(parent));
    PFNM_TRY(fs.ensure_dir(AT_FDCWD, root, 0700));
  }
  Store store{StorePaths(root)};
  const StorePaths& paths = store.paths;
  for (const std::string& dir : {paths.meta(), paths.seals(), paths.locks(), paths.leases(), paths.references(),
                                 paths.trash(), paths.new_installs(), paths.logs(), paths.memos(),
                                 paths.approvals()})
    PFNM_TRY(fs.ensure_dir(AT_FDCWD, dir, 0700));
  LineWriter format("store", k_format);
  PFNM_TRY(fs.write_file(AT_FDCWD, paths.format_file(), std::move(format).finish(), 0600));
  return store;
}

Result<std::vector<std::string>> foreign_entries(const Store& store) {
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, store.paths.root()));
  std::vector<std::string> foreign;
  for (const DirEntry& entry : entries) {
    if (entry.name == ".pf") continue;
    const auto name = InstallName::parse(entry.name);
    if (name && entry.type == FileType::directory) {
      PFNM_TRY_ASSIGN(const auto seal, find_stat(AT_FDCWD, store.paths.seal(*name)));
      PFNM_TRY_ASSIGN(const bool intent, holds_intent(store, *name));
      if (seal || intent) continue;
    }
    foreign.push_back(entry.name);
  }
  return foreign;
}

Result<std::vector<InstallName>> sealed_installs(const Store& store) {
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, store.paths.seals()));
  std::vector<InstallName> names;
  for (const DirEntry& entry : entries)
    if (auto name = InstallName::parse(entry.name)) names.push_back(std::move(*name));
  return names;
}

}  // namespace pfnm
