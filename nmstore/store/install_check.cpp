#include "nmstore/store/install_check.hpp"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <set>
#include <thread>

#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

Result<Digest> digest_file(int dir, const std::string& path) {
  PFNM_TRY_ASSIGN(const Fd fd, open_file_at(dir, path));
  Hasher hasher;
  std::array<char, 1U << 16U> buffer{};
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read", path);
    if (got == 0) return hasher.finish();
    hasher.update({buffer.data(), static_cast<std::size_t>(got)});
  }
}

// Indices of what a link names: the children of node_modules and, for scopes and .bin, theirs.
std::vector<EntryIndex> top_level(const ManifestView& manifest) {
  std::vector<EntryIndex> indices{k_manifest_root};
  const auto modules = manifest.find("node_modules");
  if (!modules) return indices;
  const auto bins = manifest.find("node_modules/.bin");
  // What the binaries lead to: npm rebuild changes their modes through the links.
  for (std::uint32_t i = 0; bins && i < bins->child_count; ++i) {
    const std::string_view link = manifest.at(bins->first_child + i).link;
    if (!link.starts_with("../")) continue;
    if (const auto target = manifest.find("node_modules/" + std::string(link.substr(3)))) indices.push_back(target->index);
  }
  indices.push_back(modules->index);
  for (std::uint32_t i = 0; i < modules->child_count; ++i) {
    const auto entry = manifest.at(modules->first_child + i);
    indices.push_back(entry.index);
    if (entry.type != FileType::directory || !(entry.name.starts_with('@') || entry.name == ".bin")) continue;
    for (std::uint32_t k = 0; k < entry.child_count; ++k) indices.push_back(entry.first_child + k);
  }
  return indices;
}

// The same names of the same types?
bool same_names(int root, const std::string& path, const ManifestView& manifest, const ManifestView::Entry& entry) {
  const auto listed = list_dir_at(root, path.empty() ? "." : path);
  if (!listed.has_value()) return false;
  std::uint32_t found = 0;
  for (const DirEntry& child : *listed) {
    if (path.empty() && child.name == ".pf") continue;  // the manifest's own directory
    const auto known = manifest.find_child(entry.index, child.name);
    if (!known || known->type != child.type) return false;
    ++found;
  }
  return found == entry.child_count;
}

// A stat that differs is a reason to look, not a verdict: a new hard link moves an object's ctime, and npm run as root
// moves directories away and back again.
bool same_content(int root, const std::string& path, const ManifestView& manifest, const ManifestView::Entry& entry) {
  switch (entry.type) {
    case FileType::directory:
      return same_names(root, path, manifest, entry);
    case FileType::symlink: {
      const auto link = read_link_at(root, path);
      return link.has_value() && *link == entry.link;
    }
    case FileType::regular: {
      const auto digest = digest_file(root, path);
      return digest.has_value() && *digest == entry.digest;
    }
    case FileType::other:
      break;
  }
  return false;
}

// Files of which only the ctime differs are read, but not more of them than this in one check: where installs share
// files, each new hard link moves the ctime of many, and a link must stay a matter of milliseconds.
constexpr int k_reads_for_ctime = 16;

// What the cheap check says of one entry.
std::optional<Damage> check_entry(int root, const ManifestView& manifest, const ManifestView::Entry& entry,
                                  int& reads_left) {
  const std::string path = manifest.path_of(entry.index);
  const auto st = stat_at(root, path.empty() ? "." : path);
  if (!st.has_value()) return st.error().code == Errc::not_found ? Damage::missing : Damage::changed;
  if (st->type() != entry.type) return Damage::changed;
  const bool same_stat = st->ino == entry.ino && st->mtime_ns == entry.mtime_ns &&
                         (entry.type == FileType::directory || st->size == entry.size);
  const bool moved = entry.type == FileType::regular && st->ctime_ns != entry.ctime_ns && reads_left-- > 0;
  if ((!same_stat || moved) && !same_content(root, path, manifest, entry)) return Damage::changed;
  // The root gets its write bit back when it goes to trash; its name list is what counts.
  if (entry.index == k_manifest_root || entry.type == FileType::symlink) return std::nullopt;
  return (st->mode & 07777U) == sealed_mode(entry.type, entry.mode) ? std::nullopt : std::optional(Damage::mode);
}

struct Findings {
  std::mutex mutex;
  std::vector<DamagedPath> damaged;
  void add(std::string path, Damage damage) {
    const std::lock_guard guard(mutex);
    damaged.push_back({std::move(path), damage});
  }
};

// Type, mode, content: what verify says of one entry. Names in directories are compared apart.
std::optional<Damage> verify_entry(int root, const std::string& path, const ManifestView::Entry& entry) {
  const auto st = stat_at(root, path.empty() ? "." : path);
  if (!st.has_value()) return st.error().code == Errc::not_found ? Damage::missing : Damage::changed;
  if (st->type() != entry.type) return Damage::changed;
  switch (entry.type) {
    case FileType::symlink: {
      const auto link = read_link_at(root, path);
      return link.has_value() && *link == entry.link ? std::nullopt : std::optional(Damage::changed);
    }
    case FileType::regular: {
      if (st->size != entry.size) return Damage::changed;
      const auto digest = digest_file(root, path);
      if (!digest.has_value() || *digest != entry.digest) return Damage::changed;
      break;
    }
    case FileType::directory:
      if (path.empty()) return std::nullopt;  // the root's mode: see check_entry
      break;
    case FileType::other:
      return Damage::changed;
  }
  if ((st->mode & 07777U) != sealed_mode(entry.type, entry.mode)) return Damage::mode;
  return std::nullopt;
}

void find_extra(int root, const std::string& path, const ManifestView& manifest, const ManifestView::Entry& entry,
                Findings& findings) {
  const auto listed = list_dir_at(root, path.empty() ? "." : path);
  if (!listed.has_value()) return;  // verify_entry has said so
  for (const DirEntry& child : *listed) {
    if (path.empty() && child.name == ".pf") continue;  // the manifest's own directory
    if (!manifest.find_child(entry.index, child.name))
      findings.add(path.empty() ? child.name : path + "/" + child.name, Damage::extra);
  }
}

}  // namespace

std::string_view damage_word(Damage damage) {
  switch (damage) {
    case Damage::changed:
      return "changed";
    case Damage::missing:
      return "missing";
    case Damage::extra:
      return "extra";
    case Damage::mode:
      return "mode";
  }
  return "changed";
}

std::uint32_t sealed_mode(FileType type, std::uint32_t mode) {
  return type == FileType::directory ? 0555U : mode & 07555U;
}

Result<std::vector<DamagedPath>> check_install(const std::string& install, const ManifestView& manifest,
                                               std::uint64_t rotation) {
  PFNM_TRY_ASSIGN(const Fd root, open_dir_at(AT_FDCWD, install));
  std::vector<EntryIndex> indices = top_level(manifest);
  // Evenly spread from a start that differs each time: every entry gets its turn, and a neighbourhood that was
  // tampered with as a whole is met with certainty once it is wider than the stride.
  const std::uint64_t stride = std::max<std::uint64_t>(1, manifest.size() / k_rotating_entries);
  for (std::uint64_t i = 0; i < std::min(k_rotating_entries, manifest.size()); ++i)
    indices.push_back(static_cast<EntryIndex>((rotation % stride + i * stride) % manifest.size()));
  std::vector<DamagedPath> damaged;
  int reads_left = k_reads_for_ctime;
  for (const EntryIndex index : indices) {
    const auto entry = manifest.at(index);
    const auto damage = check_entry(root.get(), manifest, entry, reads_left);
    if (damage) damaged.push_back({manifest.path_of(index), *damage});
  }
  return damaged;
}

Result<std::vector<DamagedPath>> restore_modes(const Fs& fs, const std::string& install, const ManifestView& manifest,
                                               const std::vector<DamagedPath>& damaged) {
  PFNM_TRY_ASSIGN(const Fd root, open_dir_at(AT_FDCWD, install));
  std::vector<DamagedPath> rest;
  for (const DamagedPath& path : damaged) {
    const auto entry = manifest.find(path.path);
    const bool only_mode = path.damage == Damage::mode && entry && entry->type == FileType::regular &&
                           same_content(root.get(), path.path, manifest, *entry);
    if (only_mode && fs.set_mode(root.get(), path.path, sealed_mode(entry->type, entry->mode)).has_value()) continue;
    rest.push_back(path);
  }
  return rest;
}

Result<std::vector<DamagedPath>> verify_install(const std::string& install, const ManifestView& manifest,
                                                const std::function<void(const VerifyProgress&)>& progress) {
  PFNM_TRY_ASSIGN(const Fd root, open_dir_at(AT_FDCWD, install));
  Findings findings;
  std::atomic<EntryIndex> next{0};
  std::atomic<std::uint64_t> bytes{0};
  const auto worker = [&](const std::function<void(const VerifyProgress&)>& report) {
    for (EntryIndex index = next.fetch_add(1); index < manifest.size(); index = next.fetch_add(1)) {
      const auto entry = manifest.at(index);
      const std::string path = manifest.path_of(index);
      if (const auto damage = verify_entry(root.get(), path, entry)) findings.add(path, *damage);
      if (entry.type == FileType::directory) find_extra(root.get(), path, manifest, entry, findings);
      bytes += entry.size;
      if (report && index % 256 == 0) report({index, bytes.load()});
    }
  };
  {
    const std::jthread second(worker, std::function<void(const VerifyProgress&)>{});
    worker(progress);
  }
  std::sort(findings.damaged.begin(), findings.damaged.end(),
            [](const DamagedPath& a, const DamagedPath& b) { return a.path < b.path; });
  return findings.damaged;
}

}  // namespace pfnm
