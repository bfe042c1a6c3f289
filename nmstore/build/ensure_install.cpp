#include "nmstore/build/ensure_install.hpp"

#include <fcntl.h>
#include <time.h>

#include <chrono>
#include <thread>

#include "nmstore/build/npm_builder.hpp"
#include "nmstore/build/seal_install.hpp"
#include "nmstore/platform/file_lock.hpp"
#include "nmstore/platform/os.hpp"
#include "nmstore/platform/process.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/install_check.hpp"
#include "nmstore/store/line_file.hpp"
#include "nmstore/store/trash.hpp"

namespace pfnm {
namespace {

void note(const BuildOptions& options, const std::string& text) {
  if (options.progress.note) options.progress.note(text);
}

class Builder {
 public:
  Builder(const ResolveContext& context, const Resolution& resolution, const BuildOptions& options)
      : context_(context), resolution_(resolution), options_(options), name_(resolution.install) {}

  Result<EnsuredInstall> ensure() {
    PFNM_TRY_ASSIGN(auto seal, usable_seal());
    if (seal && options_.anew == Anew::no) return EnsuredInstall{name_, std::move(*seal), InstallOrigin::found};
    PFNM_TRY_ASSIGN(bool waited, take_build_lock());
    if (options_.anew == Anew::yes) PFNM_TRY(unpublish());
    PFNM_TRY_ASSIGN(seal, usable_seal());
    if (!seal && options_.anew == Anew::no) {
      PFNM_TRY_ASSIGN(seal, taken_back_seal());
    }
    if (seal) return EnsuredInstall{name_, std::move(*seal), waited ? InstallOrigin::waited : InstallOrigin::found};
    PFNM_TRY(clear_the_place());
    PFNM_TRY(check_space());
    PFNM_TRY_ASSIGN(const FileLock slot, take_slot());
    auto built = build();
    if (!built.has_value()) {
      abandon();
      return fail(built.error());
    }
    start_write_back();
    return EnsuredInstall{name_, std::move(*built), InstallOrigin::built};
  }

 private:
  [[nodiscard]] const StorePaths& paths() const { return context_.store.paths; }

  // The seal's fingerprint decides, not the name: on the (unlikely) collision of shortened fingerprints the install
  // gets a longer name.
  Result<std::optional<Seal>> usable_seal() {
    PFNM_TRY_ASSIGN(auto seal, find_seal(paths(), name_));
    if (seal && seal->fingerprint != resolution_.report.fingerprint) {
      name_.text = resolution_.install.text + "-f" + resolution_.report.fingerprint.to_hex().substr(0, 16);
      PFNM_TRY_ASSIGN(seal, find_seal(paths(), name_));
    }
    if (!seal || !needs_verification(*seal, os::boot_id())) return seal;
    return reverify(std::move(*seal));
  }

  // Sealed in a boot that ended before the data was known to be on the device.
  Result<std::optional<Seal>> reverify(Seal seal) {
    note(options_, "verifying install " + name_.text.substr(0, 12) + ", which an earlier boot left unsynced");
    PFNM_TRY_ASSIGN(const ManifestView manifest, ManifestView::open(manifest_file(paths().install(name_))));
    const bool whole = checksum(manifest.bytes()) == seal.manifest_checksum;
    PFNM_TRY_ASSIGN(const auto damaged, verify_install(paths().install(name_), manifest, {}));
    if (whole && damaged.empty()) {
      seal.boot = os::boot_id();
      PFNM_TRY(publish_seal(context_.fs, paths(), seal));
      start_write_back();
      return std::optional<Seal>{std::move(seal)};
    }
    note(options_, "install " + name_.text.substr(0, 12) + " did not survive a crash of the machine: building it anew");
    PFNM_TRY(unpublish());
    return std::optional<Seal>{};
  }

  // The seal first: from then on it is no install, whatever is left of it.
  Status unpublish() {
    PFNM_TRY_ASSIGN(const auto seal, find_stat(AT_FDCWD, paths().seal(name_)));
    if (!seal) return {};
    PFNM_TRY(context_.fs.unlink(AT_FDCWD, paths().seal(name_)));
    PFNM_TRY_ASSIGN(const auto there, find_stat(AT_FDCWD, paths().install(name_)));
    if (!there) return {};
    PFNM_TRY_ASSIGN(const std::string where,
                    move_to_trash(context_.fs, context_.store, paths().install(name_), "built anew"));
    std::ignore = where;
    return {};
  }

  // A reclaimed install that is needed after all: by a copy of a worktree, say, in a place that nobody knew of.
  Result<std::optional<Seal>> taken_back_seal() {
    PFNM_TRY_ASSIGN(const TakenBack taken, take_back(context_.fs, context_.store, name_));
    if (taken == TakenBack::no) return std::optional<Seal>{};
    note(options_, "took install " + name_.text.substr(0, 12) + " back from the trash");
    return usable_seal();
  }

  // True where another builder had to be waited for.
  Result<bool> take_build_lock() {
    const std::string path = paths().build_lock(name_);
    PFNM_TRY_ASSIGN(auto lock, FileLock::try_acquire(context_.fs, path, LockMode::exclusive));
    if (lock) {
      build_lock_ = std::move(*lock);
      return false;
    }
    note(options_, "another pfnm is building install " + name_.text.substr(0, 12) + ": waiting for it");
    while (!lock) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (options_.progress.tick) options_.progress.tick();
      PFNM_TRY_ASSIGN(lock, FileLock::try_acquire(context_.fs, path, LockMode::exclusive));
    }
    build_lock_ = std::move(*lock);
    return true;
  }

  // An unsealed directory is ours to clear only if it holds our build intent; its lock is free, since we hold it.
  Status clear_the_place() {
    const std::string install = paths().install(name_);
    PFNM_TRY_ASSIGN(const auto there, find_stat(AT_FDCWD, install));
    if (!there) return {};
    PFNM_TRY_ASSIGN(const auto intent, find_stat(AT_FDCWD, intent_file(install)));
    if (!intent) {
      return fail(Error::make(Errc::foreign, "build the install", install,
                              "something that pfnm did not make is there (an older helper's install?)",
                              "move it away, or set PFNM_STORE to another directory"));
    }
    PFNM_TRY_ASSIGN(const std::string where,
                    move_to_trash(context_.fs, context_.store, install, "an interrupted build"));
    std::ignore = where;
    return {};
  }

  Status check_space() {
    const std::uint64_t needed = 2 * std::uint64_t{estimated_bytes(resolution_.lock)};
    PFNM_TRY_ASSIGN(const VolumeSpace space, volume_space(paths().root()));
    if (space.available_bytes >= needed) return {};
    return fail(Error::make(Errc::no_space, "build the install for", resolution_.project.lock_path(),
                            "about " + std::to_string(needed >> 20U) + " MiB are needed on the store's volume, " +
                                std::to_string(space.available_bytes >> 20U) + " MiB are free",
                            "free some space, or set PFNM_STORE to a directory on another volume"));
  }

  Result<FileLock> take_slot() {
    for (bool said = false;; said = true) {
      for (int slot = 0; slot < std::max(1, options_.max_builds); ++slot) {
        PFNM_TRY_ASSIGN(auto lock,
                        FileLock::try_acquire(context_.fs, paths().build_slot(slot), LockMode::exclusive));
        if (lock) return std::move(*lock);
      }
      if (!said) note(options_, "waiting: " + std::to_string(options_.max_builds) + " builds are running already");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (options_.progress.tick) options_.progress.tick();
    }
  }

  std::string render_intent() const {
    LineWriter out("intent", 1);
    out.line({"install", name_.text});
    out.line({"pid", std::to_string(::getpid())});
    out.line({"boot", os::boot_id()});
    out.line({"started", std::to_string(::time(nullptr))});
    return std::move(out).finish();
  }

  // The directory appears under its name with the intent inside it already: a crash leaves nothing that looks foreign.
  Status stage() {
    const std::string staged = paths().new_installs() + "/" + unique_name("n-");
    PFNM_TRY(context_.fs.make_dir(AT_FDCWD, staged));
    PFNM_TRY(context_.fs.make_dir(AT_FDCWD, staged + "/.pf"));
    PFNM_TRY(context_.fs.create_file(AT_FDCWD, intent_file(staged), render_intent()));
    PFNM_TRY(stage_manifest_set(context_.fs, resolution_, staged));
    PFNM_TRY(context_.fs.rename_noreplace(AT_FDCWD, staged, AT_FDCWD, paths().install(name_)));
    staged_ = true;
    return {};
  }

  Result<Seal> build() {
    PFNM_TRY(sweep_new_installs());
    PFNM_TRY(stage());
    std::ignore = context_.fs.unlink(AT_FDCWD, paths().log(name_));  // the log is of the last build
    note(options_, "building install " + name_.text.substr(0, 12) + " with npm " +
                       resolution_.toolchain.toolchain.npm_version + " ci");
    const std::string install = paths().install(name_);
    PFNM_TRY(run_npm_ci({context_.fs, context_.store, resolution_, options_.trust, install, paths().log(name_),
                         context_.environment, build_lock_->fd(), options_.progress.tick}));
    PFNM_TRY(drop_build_files(context_.fs, resolution_, install));
    note(options_, "sealing install " + name_.text.substr(0, 12));
    return seal_install(context_.fs, context_.store, resolution_, name_, [this](const SealProgress& progress) {
      if (options_.progress.count) options_.progress.count(progress.entries_done, progress.entries_total);
    });
  }

  // Staging directories of builds that ended before their rename. Small: a manifest set each. Another builder may be at
  // its own right now, so only those of processes that are gone.
  Status sweep_new_installs() {
    PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, paths().new_installs()));
    for (const DirEntry& entry : entries) {
      if (!entry.name.starts_with("n-")) continue;
      const auto pid = parse_u64(std::string_view(entry.name).substr(2, entry.name.find('-', 2) - 2));
      if (!pid || process_exists(*pid)) continue;
      PFNM_TRY(remove_tree(context_.fs, AT_FDCWD, paths().new_installs() + "/" + entry.name));
    }
    return {};
  }

  void abandon() {
    if (!staged_) return;
    // What failed is the news; what cannot be moved now is recognised by its intent and cleared by the next builder.
    std::ignore = move_to_trash(context_.fs, context_.store, paths().install(name_), "a failed build");
  }

  void start_write_back() {
    switch (options_.write_back) {
      case WriteBack::off:
        return;
      case WriteBack::wait:
        std::ignore = write_back(context_.fs, context_.store, name_);  // unsynced stays unsynced: verified after a crash
        return;
      case WriteBack::background:
        std::ignore = run_detached([fs = context_.fs, store = context_.store, name = name_](int) {
          os::become_background();
          std::ignore = write_back(fs, store, name);
        });
        return;
    }
  }

  const ResolveContext& context_;
  const Resolution& resolution_;
  const BuildOptions& options_;
  InstallName name_;
  std::optional<FileLock> build_lock_;
  bool staged_ = false;
};

}  // namespace

Result<EnsuredInstall> ensure_install(const ResolveContext& context, const Resolution& resolution,
                                      const BuildOptions& options) {
  return Builder(context, resolution, options).ensure();
}

}  // namespace pfnm
