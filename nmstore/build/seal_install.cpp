#include "nmstore/build/seal_install.hpp"

#include <fcntl.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "nmstore/build/layout_lock.hpp"
#include "nmstore/build/plan_layout.hpp"
#include "nmstore/platform/os.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/install_check.hpp"
#include "nmstore/store/reference.hpp"

namespace pfnm {
namespace {

std::string path_in(const std::vector<ManifestEntry>& entries, EntryIndex index) {
  std::string path;
  while (index != k_manifest_root) {
    path = path.empty() ? entries[index].name : entries[index].name + "/" + path;
    index = entries[index].parent;
  }
  return path;
}

// Breadth first: every parent before its children, the children of a directory together and sorted.
Result<std::vector<ManifestEntry>> walk(int root) {
  std::vector<ManifestEntry> entries(1);
  PFNM_TRY_ASSIGN(const FileStat root_stat, stat_fd(root, "the install"));
  entries[0].type = FileType::directory;
  entries[0].mode = root_stat.mode & 07777U;
  for (EntryIndex index = 0; index < entries.size(); ++index) {
    if (entries[index].type != FileType::directory) continue;
    const std::string path = path_in(entries, index);
    PFNM_TRY_ASSIGN(const auto children, list_dir_at(root, path.empty() ? "." : path));
    entries[index].first_child = static_cast<EntryIndex>(entries.size());
    for (const DirEntry& child : children) {
      if (index == k_manifest_root && child.name == k_install_meta) continue;
      if (child.type == FileType::other)
        return fail(Error::make(Errc::unsupported, "seal", path + "/" + child.name, "it is a device, pipe or socket"));
      ManifestEntry entry;
      entry.name = child.name;
      entry.parent = index;
      entry.type = child.type;
      entries.push_back(std::move(entry));
    }
    entries[index].child_count = static_cast<std::uint32_t>(entries.size() - entries[index].first_child);
  }
  return entries;
}

void take_stat(ManifestEntry& entry, const FileStat& st) {
  entry.size = entry.type == FileType::directory ? 0 : st.size;
  entry.ino = st.ino;
  entry.mtime_ns = st.mtime_ns;
  entry.ctime_ns = st.ctime_ns;
}

// Digest, then read-only, then the stat that a later check compares with: the mode change moves the ctime.
Status seal_file(const Fs& fs, int root, const std::string& path, ManifestEntry& entry) {
  PFNM_TRY_ASSIGN(FileStat st, stat_at(root, path));
  entry.mode = st.mode & 07777U;
  if (entry.type == FileType::symlink) {
    PFNM_TRY_ASSIGN(entry.link, read_link_at(root, path));
  } else {
    PFNM_TRY_ASSIGN(const MappedFile content, MappedFile::open(root, path));
    entry.digest = sha256(content.bytes());
    if (sealed_mode(entry.type, entry.mode) != entry.mode) {
      PFNM_TRY(fs.set_mode(root, path, sealed_mode(entry.type, entry.mode)));
      PFNM_TRY_ASSIGN(st, stat_at(root, path));
    }
  }
  take_stat(entry, st);
  return {};
}

struct Sealing {
  const Fs& fs;
  int root;
  std::vector<ManifestEntry>& entries;
  std::atomic<EntryIndex> next{0};
  std::mutex mutex;
  std::optional<Error> error;
};

void seal_files(Sealing& sealing, const std::function<void(const SealProgress&)>& progress) {
  const auto total = static_cast<EntryIndex>(sealing.entries.size());
  for (EntryIndex index = sealing.next.fetch_add(1); index < total; index = sealing.next.fetch_add(1)) {
    ManifestEntry& entry = sealing.entries[index];
    if (entry.type == FileType::directory) continue;
    auto sealed = seal_file(sealing.fs, sealing.root, path_in(sealing.entries, index), entry);
    if (!sealed.has_value()) {
      const std::lock_guard guard(sealing.mutex);
      sealing.error = sealed.error();
      sealing.next = total;
      return;
    }
    if (progress && index % 512 == 0) progress({index, total});
  }
}

// Deepest first: a directory is closed after everything in it.
Status seal_directories(const Fs& fs, int root, std::vector<ManifestEntry>& entries) {
  for (std::size_t i = entries.size(); i-- > 1;) {
    ManifestEntry& entry = entries[i];
    if (entry.type != FileType::directory) continue;
    const std::string path = path_in(entries, static_cast<EntryIndex>(i));
    PFNM_TRY_ASSIGN(FileStat st, stat_at(root, path));
    entry.mode = st.mode & 07777U;
    if (entry.mode != 0555U) {
      PFNM_TRY(fs.set_mode(root, path, 0555));
      PFNM_TRY_ASSIGN(st, stat_at(root, path));
    }
    take_stat(entry, st);
  }
  return {};
}

Result<std::vector<ManifestEntry>> close_tree(const Fs& fs, int root,
                                              const std::function<void(const SealProgress&)>& progress) {
  PFNM_TRY_ASSIGN(auto entries, walk(root));
  Sealing sealing{fs, root, entries, {}, {}, {}};
  if (entries.size() > 256) {
    const std::jthread second([&] { seal_files(sealing, {}); });
    seal_files(sealing, progress);
  } else {
    seal_files(sealing, progress);
  }
  if (sealing.error) return fail(*sealing.error);
  PFNM_TRY(seal_directories(fs, root, entries));
  // The top directory is closed last of all, when .pf inside it is complete; its mtime is that of now.
  PFNM_TRY_ASSIGN(const FileStat st, stat_fd(root, "the install"));
  take_stat(entries[0], st);
  return entries;
}

Status write_meta(const Fs& fs, const Resolution& resolution, const std::string& install, Seal& seal) {
  PFNM_TRY_ASSIGN(const ManifestView manifest, ManifestView::open(manifest_file(install)));
  seal.manifest_checksum = checksum(manifest.bytes());
  const std::string plan = render_plan(plan_layout(manifest, resolution.lock));
  seal.plan_checksum = checksum(plan);
  PFNM_TRY(fs.write_file(AT_FDCWD, plan_file(install), plan, 0444));
  PFNM_TRY_ASSIGN(const auto hidden, find_file(AT_FDCWD, install + "/node_modules/.package-lock.json"));
  const std::string empty = R"({"lockfileVersion":3,"requires":true,"packages":{}})";
  const auto copied = copied_packages(resolution.lock);
  const std::string hidden_text = hidden.value_or(empty);
  PFNM_TRY_ASSIGN(const std::string lock, render_layout_lock({hidden_text, resolution.lock, manifest, copied,
                                                              resolution.root.overrides}));
  return fs.write_file(AT_FDCWD, layout_lock_file(install), lock, 0444);
}

Seal seal_of(const Resolution& resolution, const InstallName& name, const std::vector<ManifestEntry>& entries) {
  Seal seal;
  seal.install = name;
  seal.fingerprint = resolution.report.fingerprint;
  seal.boot = os::boot_id();
  seal.sealed_at = ::time(nullptr);
  seal.entries = entries.size();
  for (const ManifestEntry& entry : entries)
    if (entry.type == FileType::regular) seal.bytes += entry.size;
  const Toolchain& toolchain = resolution.toolchain.toolchain;
  seal.builder = "npm " + toolchain.npm_version + ", node " + toolchain.node_version;
  seal.items = resolution.report.items;
  seal.not_run = resolution.not_run;
  return seal;
}

}  // namespace

Result<Seal> seal_install(const Fs& fs, const Store& store, const Resolution& resolution, const InstallName& name,
                          const std::function<void(const SealProgress&)>& progress) {
  const std::string install = store.paths.install(name);
  PFNM_TRY_ASSIGN(const Fd root, open_dir_at(AT_FDCWD, install));
  PFNM_TRY_ASSIGN(const auto entries, close_tree(fs, root.get(), progress));
  PFNM_TRY(fs.write_file(AT_FDCWD, manifest_file(install), render_manifest(entries), 0444));
  Seal seal = seal_of(resolution, name, entries);
  PFNM_TRY(write_meta(fs, resolution, install, seal));
  PFNM_TRY(fs.set_mode(AT_FDCWD, intent_file(install), 0444));
  PFNM_TRY(fs.set_mode(AT_FDCWD, install + "/.pf", 0555));
  PFNM_TRY(fs.set_mode(AT_FDCWD, install, 0555));
  PFNM_TRY(publish_seal(fs, store.paths, seal));
  return seal;
}

Status write_back(const Fs& fs, const Store& store, const InstallName& name) {
  PFNM_TRY_ASSIGN(const FileLock lease, take_lease(fs, store, name));
  PFNM_TRY_ASSIGN(auto seal, find_seal(store.paths, name));
  if (!seal || seal->synced == Synced::yes) return {};
  const std::string install = store.paths.install(name);
  PFNM_TRY_ASSIGN(const Fd root, open_dir_at(AT_FDCWD, install));
  PFNM_TRY_ASSIGN(const ManifestView manifest, ManifestView::open(manifest_file(install)));
  // Writing is started file by file, without a journal commit; after each 8 MiB a rest as long as that took, so that
  // the volume stays at most half ours. What syncfs then waits for is little.
  constexpr std::uint64_t k_burst = 8U << 20U;
  std::uint64_t burst = 0;
  auto started = std::chrono::steady_clock::now();
  for (EntryIndex index = 0; index < manifest.size(); ++index) {
    const auto entry = manifest.at(index);
    if (entry.type != FileType::regular || entry.size == 0) continue;
    const auto fd = open_file_at(root.get(), manifest.path_of(index));
    if (fd.has_value()) std::ignore = os::start_writeback(fd->get());  // a hint; syncfs decides
    burst += entry.size + 4096;
    if (burst < k_burst) continue;
    std::this_thread::sleep_for(std::chrono::steady_clock::now() - started);
    burst = 0;
    started = std::chrono::steady_clock::now();
  }
  if (const int error = os::sync_file_system(root.get()); error != 0) return fail_errno(error, "sync", install);
  seal->synced = Synced::yes;
  return publish_seal(fs, store.paths, *seal);
}

}  // namespace pfnm
