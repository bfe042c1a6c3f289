#include "nmstore/store/trash.hpp"

#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "nmstore/platform/read.hpp"
#include "nmstore/store/line_file.hpp"
#include "nmstore/store/manifest.hpp"
#include "nmstore/store/seal.hpp"

namespace pfnm {
namespace {

constexpr std::string_view k_record_suffix = ".record";
constexpr std::string_view k_seal_suffix = ".seal";

std::string in_trash(const Store& store, std::string_view name) { return store.paths.trash() + "/" + std::string(name); }
std::string record_of(const Store& store, const std::string& id) { return in_trash(store, id) + ".record"; }
std::string seal_of(const Store& store, const std::string& id) { return in_trash(store, id) + ".seal"; }
std::string doomed_name(const std::string& id) { return "d" + id.substr(1); }

std::string render_record(const TrashItem& item) {
  LineWriter out("trash", 1);
  out.line({"from", item.from});
  out.line({"why", item.why});
  out.line({"time", std::to_string(item.trashed_at)});
  if (item.install) out.line({"install", item.install->text});
  return std::move(out).finish();
}

Result<TrashItem> parse_record(std::string_view text, const std::string& path) {
  PFNM_TRY_ASSIGN(const auto lines, parse_lines(text, "trash", 1, path));
  TrashItem item;
  for (const Line& line : lines) {
    if (line.size() != 2) continue;
    if (line[0] == "from") item.from = line[1];
    if (line[0] == "why") item.why = line[1];
    if (line[0] == "time") item.trashed_at = parse_i64(line[1]).value_or(0);
    if (line[0] == "install") item.install = InstallName::parse(line[1]);
  }
  if (item.from.empty() || item.trashed_at <= 0)
    return fail(Error::make(Errc::corrupt, "read", path, "it does not say what and when"));
  return item;
}

// Makes the record: first of all, since trash that no record explains is never deleted.
Result<TrashItem> open_item(const Fs& fs, const Store& store, TrashItem item) {
  item.id = unique_name("t-");
  item.trashed_at = ::time(nullptr);
  PFNM_TRY(fs.write_file(AT_FDCWD, record_of(store, item.id), render_record(item), 0600));
  return item;
}

Status make_movable(const Fs& fs, const std::string& path) {
  PFNM_TRY_ASSIGN(const FileStat st, stat_at(AT_FDCWD, path));
  if (!st.is_dir() || (st.mode & 0200U) != 0U) return {};
  return fs.set_mode(AT_FDCWD, path, (st.mode & 0777U) | 0200U);
}

TrashState state_of(const std::set<std::string>& names, const std::string& id) {
  if (names.contains(doomed_name(id))) return TrashState::doomed;
  if (names.contains(id)) return TrashState::whole;
  return names.contains(id + std::string(k_seal_suffix)) ? TrashState::pending : TrashState::empty;
}

// Put back as it was sealed.
Status restore_top(const Fs& fs, const std::string& install) {
  PFNM_TRY_ASSIGN(const FileStat st, stat_at(AT_FDCWD, install));
  if ((st.mode & 0222U) == 0U) return {};
  return fs.set_mode(AT_FDCWD, install, st.mode & 0555U);
}

Status drop_if_there(const Fs& fs, const std::string& path) {
  auto removed = fs.unlink(AT_FDCWD, path);
  if (!removed.has_value() && removed.error().sys_errno == ENOENT) return {};
  return removed;
}

// Is what stands in the install's place what this seal was made for? The name alone does not say so: the item's tree may
// have been deleted, and a build that was interrupted since may have the place.
Result<bool> is_what_was_sealed(const Store& store, const TrashItem& item) {
  const std::string install = store.paths.install(*item.install);
  PFNM_TRY_ASSIGN(const auto there, find_stat(AT_FDCWD, install));
  if (!there || !there->is_dir()) return false;
  PFNM_TRY_ASSIGN(const std::string text, read_file(AT_FDCWD, seal_of(store, item.id)));
  PFNM_TRY_ASSIGN(const Seal seal, parse_seal(text, seal_of(store, item.id)));
  PFNM_TRY_ASSIGN(const auto manifest, find_file(AT_FDCWD, manifest_file(install)));
  return manifest && checksum(*manifest) == seal.manifest_checksum;
}

Status republish(const Fs& fs, const Store& store, const TrashItem& item) {
  PFNM_TRY(restore_top(fs, store.paths.install(*item.install)));
  PFNM_TRY(fs.rename_noreplace(AT_FDCWD, seal_of(store, item.id), AT_FDCWD, store.paths.seal(*item.install)));
  return drop_if_there(fs, record_of(store, item.id));
}

}  // namespace

Result<Trash> list_trash(const Store& store) {
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, store.paths.trash()));
  std::set<std::string> names;
  for (const DirEntry& entry : entries)
    if (!entry.name.starts_with(".pfnm-tmp-")) names.insert(entry.name);  // a record being written
  Trash trash;
  std::set<std::string> explained;
  for (const std::string& name : names) {
    if (!name.starts_with("t-") || !name.ends_with(k_record_suffix)) continue;
    const auto text = find_file(AT_FDCWD, in_trash(store, name));
    if (!text.has_value() || !*text) continue;
    auto item = parse_record(**text, name);
    if (!item.has_value()) continue;
    item->id = name.substr(0, name.size() - k_record_suffix.size());
    item->state = state_of(names, item->id);
    for (const std::string& own : {name, item->id, doomed_name(item->id), item->id + std::string(k_seal_suffix)})
      explained.insert(own);
    trash.items.push_back(std::move(*item));
  }
  std::set_difference(names.begin(), names.end(), explained.begin(), explained.end(),
                      std::back_inserter(trash.unexplained));
  return trash;
}

Result<std::string> move_to_trash(const Fs& fs, const Store& store, const std::string& path, const std::string& why) {
  TrashItem wanted;
  wanted.from = path;
  wanted.why = why;
  PFNM_TRY_ASSIGN(const TrashItem item, open_item(fs, store, std::move(wanted)));
  const std::string destination = in_trash(store, item.id);
  auto moved = make_movable(fs, path);
  if (moved.has_value()) moved = fs.rename_noreplace(AT_FDCWD, path, AT_FDCWD, destination);
  if (moved.has_value()) return destination;
  std::ignore = fs.unlink(AT_FDCWD, record_of(store, item.id));  // nothing was moved; why is the news
  return fail(moved.error());
}

Result<std::string> retire_install(const Fs& fs, const Store& store, const InstallName& name, const std::string& why) {
  const std::string install = store.paths.install(name);
  PFNM_TRY_ASSIGN(const FileStat st, stat_at(AT_FDCWD, install));
  if (!st.is_dir()) {
    return fail(Error::make(Errc::foreign, "reclaim", install, "it is no directory any more",
                            "look who replaced it; pfnm does not touch it"));
  }
  TrashItem wanted;
  wanted.from = install;
  wanted.why = why;
  wanted.install = name;
  PFNM_TRY_ASSIGN(const TrashItem item, open_item(fs, store, std::move(wanted)));
  auto unpublished =
      fs.rename_noreplace(AT_FDCWD, store.paths.seal(name), AT_FDCWD, seal_of(store, item.id));
  if (!unpublished.has_value() && unpublished.error().sys_errno != ENOENT) {  // none: an interrupted build
    std::ignore = fs.unlink(AT_FDCWD, record_of(store, item.id));
    return fail(unpublished.error());
  }
  auto moved = make_movable(fs, install);
  if (moved.has_value()) moved = fs.rename_noreplace(AT_FDCWD, install, AT_FDCWD, in_trash(store, item.id));
  if (moved.has_value()) return item.id;
  std::ignore = settle_pending(fs, store, item);  // back to what it was; the error is the news
  return fail(moved.error());
}

Result<TakenBack> take_back(const Fs& fs, const Store& store, const InstallName& name) {
  PFNM_TRY_ASSIGN(const Trash trash, list_trash(store));
  for (const TrashItem& item : trash.items) {
    if (item.install != name || item.state == TrashState::doomed || item.state == TrashState::empty) continue;
    PFNM_TRY_ASSIGN(const auto seal, find_stat(AT_FDCWD, seal_of(store, item.id)));
    if (!seal) continue;  // an interrupted build: nothing to have back
    if (item.state == TrashState::whole) {
      const auto tree = stat_at(AT_FDCWD, in_trash(store, item.id));
      if (!tree.has_value() || !tree->is_dir()) continue;  // its deletion began, or it was replaced
      auto moved =
          fs.rename_noreplace(AT_FDCWD, in_trash(store, item.id), AT_FDCWD, store.paths.install(name));
      if (!moved.has_value() && moved.error().code == Errc::not_found) continue;  // its deletion began
      if (!moved.has_value()) return fail(moved.error());
    }
    PFNM_TRY_ASSIGN(const bool same, is_what_was_sealed(store, item));
    if (!same) continue;
    PFNM_TRY(republish(fs, store, item));
    return TakenBack::yes;
  }
  return TakenBack::no;
}

Status settle_pending(const Fs& fs, const Store& store, const TrashItem& item) {
  // It was read some time ago: whoever was moving something here may have ended since.
  for (const std::string& name : {item.id, doomed_name(item.id)}) {
    PFNM_TRY_ASSIGN(const auto moved, find_stat(AT_FDCWD, in_trash(store, name)));
    if (moved) return {};
  }
  if (item.install) {
    PFNM_TRY_ASSIGN(const auto unpublished, find_stat(AT_FDCWD, seal_of(store, item.id)));
    PFNM_TRY_ASSIGN(const auto sealed, find_stat(AT_FDCWD, store.paths.seal(*item.install)));
    if (unpublished && !sealed) {
      PFNM_TRY_ASSIGN(const bool same, is_what_was_sealed(store, item));
      if (same) return republish(fs, store, item);
    }
  }
  return forget(fs, store, item);
}

Result<std::string> doom(const Fs& fs, const Store& store, const TrashItem& item) {
  const std::string name = doomed_name(item.id);
  if (item.state == TrashState::doomed) return name;
  PFNM_TRY(fs.rename_noreplace(AT_FDCWD, in_trash(store, item.id), AT_FDCWD, in_trash(store, name)));
  return name;
}

Status forget(const Fs& fs, const Store& store, const TrashItem& item) {
  PFNM_TRY(drop_if_there(fs, seal_of(store, item.id)));
  return drop_if_there(fs, record_of(store, item.id));
}

}  // namespace pfnm
