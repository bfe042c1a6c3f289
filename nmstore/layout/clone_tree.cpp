#include "nmstore/layout/clone_tree.hpp"

#include <fcntl.h>

#include "nmstore/layout/links.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

bool is_bookkeeping(std::string_view name) {
  return name == k_marker || name == k_record || name == k_hop_dir || name == k_hop_seen ||
         name == k_aside_dir;
}

Status clone_entry(const Fs& fs, const std::string& from, const std::string& to, const DirEntry& entry);

Status clone_dir(const Fs& fs, const std::string& from, const std::string& to, mode_t mode) {
  PFNM_TRY(fs.make_dir(AT_FDCWD, to, mode | 0700U));
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, from));
  for (const DirEntry& entry : entries)
    if (!is_bookkeeping(entry.name)) PFNM_TRY(clone_entry(fs, from + "/" + entry.name, to + "/" + entry.name, entry));
  return {};
}

Status clone_entry(const Fs& fs, const std::string& from, const std::string& to, const DirEntry& entry) {
  switch (entry.type) {
    case FileType::symlink: {
      PFNM_TRY_ASSIGN(const std::string link, read_link_at(AT_FDCWD, from));
      return fs.make_symlink(link, AT_FDCWD, to);
    }
    case FileType::directory: {
      PFNM_TRY_ASSIGN(const FileStat st, stat_at(AT_FDCWD, from));
      return clone_dir(fs, from, to, st.mode & 0777U);
    }
    case FileType::regular:
      return fs.clone_file(AT_FDCWD, from, AT_FDCWD, to);
    case FileType::other:
      break;
  }
  return {};  // a socket or pipe is some process's own
}

// npm's hidden lock must be newer than every directory.
Status renew_hidden_lock(const Fs& fs, const std::string& modules) {
  const std::string lock = modules + "/.package-lock.json";
  PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, lock));
  return text ? fs.write_file(AT_FDCWD, lock, *text) : Status{};
}

Status stage(const Fs& fs, const CloneRequest& request, const std::string& staging) {
  for (std::size_t i = 0; i < request.containers.size(); ++i)
    PFNM_TRY(clone_dir(fs, request.from + "/" + request.containers[i], staging + "/" + std::to_string(i), 0755));
  Record record = request.record;
  record.layout = Layout::private_copy;
  record.dirs.clear();
  record.own.clear();
  PFNM_TRY(fs.create_file(AT_FDCWD, staging + "/0/" + k_record, render_record(record)));
  return renew_hidden_lock(fs, staging + "/0");
}

}  // namespace

Status clone_modules(const Fs& fs, const CloneRequest& request) {
  PFNM_TRY_ASSIGN(const std::string staging, make_staging(fs, request.project, k_staging_prefix));
  auto staged = stage(fs, request, staging);
  if (!staged.has_value()) {
    std::ignore = remove_tree(fs, AT_FDCWD, staging);  // the staging's error is the news; the next link sweeps
    return staged;
  }
  // Workspaces first: the root's record is what makes the copy count.
  for (std::size_t i = request.containers.size(); i-- > 0;)
    PFNM_TRY(fs.rename(AT_FDCWD, staging + "/" + std::to_string(i), AT_FDCWD,
                       request.project + "/" + request.containers[i]));
  return remove_tree(fs, AT_FDCWD, staging);
}

}  // namespace pfnm
