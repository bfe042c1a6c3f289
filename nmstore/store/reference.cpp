#include "nmstore/store/reference.hpp"

#include <fcntl.h>
#include <time.h>

#include <cerrno>

#include "nmstore/platform/read.hpp"
#include "nmstore/store/line_file.hpp"
#include "nmstore/store/record.hpp"

namespace pfnm {
namespace {

std::string reference_id(const std::string& project) { return sha256(project).to_hex().substr(0, 32); }

std::string render_reference(const Reference& reference) {
  LineWriter out("reference", 1);
  out.line({"project", reference.project});
  if (!reference.worktree.empty()) out.line({"worktree", reference.worktree});
  out.line({"repository", reference.repository});
  out.line({"install", reference.install.text});
  out.line({"layout", reference.layout});
  out.line({"identity", reference.identity.volume, std::to_string(reference.identity.dev),
            std::to_string(reference.identity.ino), std::to_string(reference.identity.birth_ns)});
  out.line({"boot", reference.boot});
  out.line({"announced", std::to_string(reference.announced_at)});
  return std::move(out).finish();
}

bool parse_identity(const Line& line, os::Identity& identity) {
  const auto dev = parse_u64(line[2]);
  const auto ino = parse_u64(line[3]);
  const auto birth = parse_i64(line[4]);
  if (!dev || !ino || !birth) return false;
  identity = {line[1], *dev, *ino, *birth};
  return true;
}

bool parse_reference_line(const Line& line, Reference& reference) {
  if (line[0] == "identity" && line.size() == 5) return parse_identity(line, reference.identity);
  if (line.size() != 2) return false;
  if (line[0] == "project") reference.project = line[1];
  if (line[0] == "worktree") reference.worktree = line[1];
  if (line[0] == "repository") reference.repository = line[1];
  if (line[0] == "layout") reference.layout = line[1];
  if (line[0] == "boot") reference.boot = line[1];
  if (line[0] == "announced") reference.announced_at = parse_i64(line[1]).value_or(0);
  if (line[0] == "install") {
    const auto name = InstallName::parse(line[1]);
    if (!name) return false;
    reference.install = *name;
  }
  return true;
}

Result<Reference> parse_reference(std::string_view text, const std::string& path) {
  PFNM_TRY_ASSIGN(const auto lines, parse_lines(text, "reference", 1, path));
  Reference reference;
  for (const Line& line : lines)
    if (!parse_reference_line(line, reference))
      return fail(Error::make(Errc::corrupt, "read", path, "bad line: " + line[0]));
  if (reference.project.empty() || reference.install.text.empty())
    return fail(Error::make(Errc::corrupt, "read", path, "it names no worktree or no install"));
  return reference;
}

std::string parent_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string place_file(const Store& store, const KnownPlace& place) {
  const std::string name = place.repository + '\n' + place.root + '\n' + place.below + '\n' + place.volume;
  return store.paths.known_places() + "/" + sha256(name).to_hex().substr(0, 32);
}

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

bool same_place(const KnownPlace& a, const KnownPlace& b) {
  return a.repository == b.repository && a.root == b.root && a.below == b.below && a.volume == b.volume;
}

// The install is used now, or was until now. Without a lease file nobody ever used it.
Status touch_if_there(const Fs& fs, const Store& store, const InstallName& name) {
  auto touched = fs.set_mtime(AT_FDCWD, store.paths.lease(name), now_ns());
  if (!touched.has_value() && touched.error().sys_errno == ENOENT) return {};
  return touched;
}

// A lease file that is made only to be locked must not say that the install is used now. Put in its place as old as can
// be: a link that makes it meanwhile is not overruled.
Status make_unused_lease(const Fs& fs, const Store& store, const InstallName& name) {
  PFNM_TRY_ASSIGN(const auto there, find_stat(AT_FDCWD, store.paths.lease(name)));
  if (there) return {};
  const std::string made = store.paths.leases() + "/" + unique_name(".pfnm-tmp-");
  PFNM_TRY(fs.create_file(AT_FDCWD, made, "", 0600));
  auto placed = fs.set_mtime(AT_FDCWD, made, 0);
  if (placed.has_value()) placed = fs.rename_noreplace(AT_FDCWD, made, AT_FDCWD, store.paths.lease(name));
  if (placed.has_value()) return {};
  std::ignore = fs.unlink(AT_FDCWD, made);
  return placed.error().sys_errno == EEXIST ? Status{} : placed;
}

}  // namespace

Status announce_reference(const Fs& fs, const Store& store, const Reference& reference) {
  PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, store.paths.reference(reference_id(reference.project))));
  if (text) {
    // One that cannot be read says nothing that could be kept.
    const auto former = parse_reference(*text, reference.project);
    if (former.has_value() && !same_place(place_of(*former), place_of(reference)))
      PFNM_TRY(remember_place(fs, store, place_of(*former)));
    if (former.has_value() && former->install != reference.install) PFNM_TRY(touch_if_there(fs, store, former->install));
  }
  PFNM_TRY(touch_if_there(fs, store, reference.install));
  return fs.write_file(AT_FDCWD, store.paths.reference(reference_id(reference.project)), render_reference(reference),
                       0600);
}

Status drop_reference(const Fs& fs, const Store& store, const std::string& project) {
  if (const auto former = find_reference(store, project); former.has_value() && *former) {
    PFNM_TRY(remember_place(fs, store, place_of(**former)));
    PFNM_TRY(touch_if_there(fs, store, (*former)->install));
  }
  auto removed = fs.unlink(AT_FDCWD, store.paths.reference(reference_id(project)));
  if (!removed.has_value() && removed.error().sys_errno == ENOENT) return {};
  return removed;
}

Result<std::optional<Reference>> find_reference(const Store& store, const std::string& project) {
  const std::string path = store.paths.reference(reference_id(project));
  PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, path));
  if (!text) return std::optional<Reference>{};
  PFNM_TRY_ASSIGN(Reference reference, parse_reference(*text, path));
  return std::optional<Reference>{std::move(reference)};
}

Result<std::vector<Reference>> list_references(const Store& store) {
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, store.paths.references()));
  std::vector<Reference> references;
  for (const DirEntry& entry : entries) {
    if (entry.name.starts_with(".pfnm-tmp-")) continue;  // being written, or left by a crash: announced nothing yet
    const std::string path = store.paths.reference(entry.name);
    PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, path));
    if (!text) continue;  // dropped meanwhile
    PFNM_TRY_ASSIGN(Reference reference, parse_reference(*text, path));
    reference.file = entry.name;
    references.push_back(std::move(reference));
  }
  return references;
}

KnownPlace place_of(const Reference& reference) {
  KnownPlace place;
  place.repository = reference.repository;
  place.volume = reference.identity.volume;
  const std::string& worktree = reference.worktree.empty() ? reference.project : reference.worktree;
  place.root = parent_of(worktree);
  if (reference.project.size() > worktree.size()) place.below = reference.project.substr(worktree.size() + 1);
  return place;
}

Status remember_place(const Fs& fs, const Store& store, const KnownPlace& place) {
  const std::string path = place_file(store, place);
  PFNM_TRY_ASSIGN(const auto there, find_stat(AT_FDCWD, path));
  if (there) return {};
  PFNM_TRY(fs.ensure_dir(AT_FDCWD, store.paths.known_places(), 0700));
  LineWriter out("place", 1);
  out.line({"repository", place.repository});
  out.line({"root", place.root});
  out.line({"below", place.below});
  out.line({"volume", place.volume});
  return fs.write_file(AT_FDCWD, path, std::move(out).finish(), 0600);
}

Status forget_place(const Fs& fs, const Store& store, const KnownPlace& place) {
  auto removed = fs.unlink(AT_FDCWD, place_file(store, place));
  if (!removed.has_value() && removed.error().sys_errno == ENOENT) return {};
  return removed;
}

Result<std::vector<KnownPlace>> list_places(const Store& store) {
  std::vector<KnownPlace> places;
  PFNM_TRY_ASSIGN(const auto there, find_stat(AT_FDCWD, store.paths.known_places()));
  if (!there) return places;
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, store.paths.known_places()));
  for (const DirEntry& entry : entries) {
    if (entry.name.starts_with(".pfnm-tmp-")) continue;
    const std::string path = store.paths.known_places() + "/" + entry.name;
    PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, path));
    if (!text) continue;
    PFNM_TRY_ASSIGN(const auto lines, parse_lines(*text, "place", 1, path));
    KnownPlace place;
    for (const Line& line : lines) {
      if (line.size() != 2) continue;
      if (line[0] == "repository") place.repository = line[1];
      if (line[0] == "root") place.root = line[1];
      if (line[0] == "below") place.below = line[1];
      if (line[0] == "volume") place.volume = line[1];
    }
    places.push_back(std::move(place));
  }
  return places;
}

// Moved away first, under a name that `list_references` still reads: what is looked at then is what is dropped, and a
// link that announces itself at this very moment writes the name anew.
Status drop_dead_reference(const Fs& fs, const Store& store, const Reference& reference) {
  PFNM_TRY(remember_place(fs, store, place_of(reference)));
  const std::string path = store.paths.reference(reference.file);
  const std::string aside = path + unique_name("-");
  auto moved = fs.rename_noreplace(AT_FDCWD, path, AT_FDCWD, aside);
  if (!moved.has_value()) return moved.error().sys_errno == ENOENT ? Status{} : moved;
  PFNM_TRY_ASSIGN(const std::string text, read_file(AT_FDCWD, aside));
  if (text == render_reference(reference)) return fs.unlink(AT_FDCWD, aside);
  moved = fs.rename_noreplace(AT_FDCWD, aside, AT_FDCWD, path);
  return moved.has_value() ? moved : fs.unlink(AT_FDCWD, aside);  // announced once more meanwhile
}

Result<FileLock> take_lease(const Fs& fs, const Store& store, const InstallName& name) {
  return FileLock::acquire(fs, store.paths.lease(name), LockMode::shared);
}

Result<std::optional<FileLock>> try_take_lease_exclusively(const Fs& fs, const Store& store, const InstallName& name) {
  PFNM_TRY(make_unused_lease(fs, store, name));
  return FileLock::try_acquire(fs, store.paths.lease(name), LockMode::exclusive);
}

Result<std::int64_t> last_leased(const Store& store, const InstallName& name) {
  PFNM_TRY_ASSIGN(const auto st, find_stat(AT_FDCWD, store.paths.lease(name)));
  return st ? st->mtime_ns / 1'000'000'000LL : 0;
}

}  // namespace pfnm
