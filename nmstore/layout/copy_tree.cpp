#include "nmstore/layout/copy_tree.hpp"

#include <fcntl.h>

#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

struct FileJob {
  EntryIndex index;
  std::string destination;
};

struct Walk {
  const Fs& fs;
  const CopyRequest& request;
  std::vector<FileJob> files;
  std::uint64_t others = 0;
};

Status place(Walk& walk, const ManifestView::Entry& entry, const std::string& path, const std::string& destination) {
  const auto& request = walk.request;
  if (request.choose && request.choose(entry, path) == CopyChoice::leave_out) return {};
  switch (entry.type) {
    case FileType::regular:
      walk.files.push_back({entry.index, destination});
      return {};
    case FileType::symlink:
      ++walk.others;
      return walk.fs.make_symlink(std::string(entry.link), AT_FDCWD, destination);
    case FileType::other:
      return fail(Error::make(Errc::corrupt, "copy", path, "the manifest is damaged"));
    case FileType::directory:
      break;
  }
  ++walk.others;
  PFNM_TRY(walk.fs.make_dir(AT_FDCWD, destination, entry.mode | 0700U));
  for (std::uint32_t i = 0; i < entry.child_count; ++i) {
    const auto child = request.manifest.at(entry.first_child + i);
    if (child.parent != entry.index) return fail(Error::make(Errc::corrupt, "copy", path, "the manifest is damaged"));
    const std::string name(child.name);
    PFNM_TRY(place(walk, child, path.empty() ? name : path + "/" + name, destination + "/" + name));
  }
  return {};
}

struct Shared {
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> reflinked{0};
  std::mutex mutex;
  std::optional<Error> error;
};

void copy_files(const Fs& fs, const CopyRequest& request, const std::vector<FileJob>& files, Shared& shared,
                const std::function<void(const CopyReport&)>& progress) {
  for (std::size_t i = shared.next.fetch_add(1); i < files.size(); i = shared.next.fetch_add(1)) {
    const auto entry = request.manifest.at(files[i].index);
    const std::string source = request.install + "/" + request.manifest.path_of(files[i].index);
    auto copied = fs.copy_file(AT_FDCWD, source, AT_FDCWD, files[i].destination, entry.mode | 0200U);
    if (!copied.has_value()) {
      const std::lock_guard guard(shared.mutex);
      shared.error = copied.error();
      shared.next = files.size();
      return;
    }
    shared.bytes += entry.size;
    if (*copied == CopiedBy::reflink) shared.reflinked += entry.size;
    if (progress && i % 128 == 0) progress({i, shared.bytes.load(), shared.reflinked.load()});
  }
}

}  // namespace

Result<CopyReport> copy_subtree(const Fs& fs, const CopyRequest& request) {
  Walk walk{fs, request, {}, 0};
  const std::string path = request.manifest.path_of(request.source);
  PFNM_TRY(place(walk, request.manifest.at(request.source), path, request.destination));
  Shared shared;
  // One file at a time is faster than a thread for the few of a single package.
  if (walk.files.size() > 512) {
    const std::jthread second([&] { copy_files(fs, request, walk.files, shared, {}); });
    copy_files(fs, request, walk.files, shared, request.progress);
  } else {
    copy_files(fs, request, walk.files, shared, request.progress);
  }
  if (shared.error) return fail(*shared.error);
  return CopyReport{walk.others + walk.files.size(), shared.bytes.load(), shared.reflinked.load()};
}

}  // namespace pfnm
