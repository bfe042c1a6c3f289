#include "nmstore/store/reference.hpp"

#include <fcntl.h>

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

}  // namespace

Status announce_reference(const Fs& fs, const Store& store, const Reference& reference) {
  return fs.write_file(AT_FDCWD, store.paths.reference(reference_id(reference.project)), render_reference(reference),
                       0600);
}

Status drop_reference(const Fs& fs, const Store& store, const std::string& project) {
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
    references.push_back(std::move(reference));
  }
  return references;
}

ReferenceState survey_reference(const Store& store, const Reference& reference) {
  const auto project = find_stat(AT_FDCWD, reference.project);
  if (!project.has_value()) return ReferenceState::unknown;
  // Gone for certain is judged with the mount table when installs are reclaimed; for showing, absence is enough.
  if (!*project) return ReferenceState::dead;
  const std::string modules = reference.project + "/node_modules";
  const auto hop = read_link_at(AT_FDCWD, modules + "/" + k_hop);
  if (hop.has_value())
    return *hop == store.paths.install(reference.install) ? ReferenceState::live : ReferenceState::dead;
  if (hop.error().sys_errno != ENOENT && hop.error().sys_errno != ENOTDIR) return ReferenceState::unknown;
  return ReferenceState::dead;
}

Result<FileLock> take_lease(const Fs& fs, const Store& store, const InstallName& name) {
  return FileLock::acquire(fs, store.paths.lease(name), LockMode::shared);
}

}  // namespace pfnm
