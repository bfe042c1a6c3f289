// The one remover of the product: everything that is deleted in bulk goes through it (SPEC 7.2). A child unlinks in
// batches; after each the file system's debt is paid (syncfs) while a ref write that began after the last unlink is
// timed; only when both have come back is the next batch given out, of the size that the pacer says.
//
// It follows no link, enters no mount point, changes no mode but that of directories, and deletes nothing but `name`
// below the directory that it was started on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/reclaim/pacer.hpp"
#include "nmstore/reclaim/probe.hpp"

namespace pfnm {

enum class RemovalEnd {
  done,
  told_to_stop,  // `go_on` said so
  stalled,       // touch nothing more on that volume
  left_some,     // what could not be removed is in `left`
};

struct RemovalReport {
  RemovalEnd end = RemovalEnd::done;
  std::uint64_t entries = 0;
  std::string why;                // stalled: what did not come back
  std::vector<std::string> left;  // relative to the directory, with the reason
};

struct RemoverOptions {
  PacerPolicy pacer;
  std::function<bool()> go_on;                              // asked before each batch
  std::function<void(const PacerStep&, std::uint64_t entries)> on_step;
};

class Remover {
 public:
  // `directory`: where everything that it will remove lies. `scratches`: probe repositories, one beside it and, where
  // that is another volume, one on the repository's. Times five ref writes; where these say that a volume is stalled
  // already, the remover exists but will delete nothing (`stalled`).
  [[nodiscard]] static Result<Remover> start(const Fs& fs, const std::string& directory,
                                             const std::vector<std::string>& scratches, RemoverOptions options);

  // Errors: the child ended, or a probe could not write. After a stall, or once told to stop, every call says so at once.
  [[nodiscard]] Result<RemovalReport> remove(const std::string& name);
  // One ref write on each volume, before something else than a removal is changed there. `stalled` says what came of it.
  [[nodiscard]] Status look();
  [[nodiscard]] bool stalled() const { return !stall_.empty(); }
  [[nodiscard]] const std::string& stall() const { return stall_; }

 private:
  Remover(Worker worker, std::vector<Prober> probers, RemoverOptions options);
  Status take_baseline();
  Result<std::optional<std::int64_t>> felt_now();
  Result<bool> settle(PacerSample& sample);
  Result<bool> pay_and_pace(PacerSample sample, std::uint64_t entries);
  void stall(std::string why) { stall_ = std::move(why); }

  Worker worker_;
  std::vector<Prober> probers_;
  RemoverOptions options_;
  Pacer pacer_;
  std::string stall_;
  bool stopped_ = false;  // the child is in the middle of something that will not be gone on with
};

}  // namespace pfnm
