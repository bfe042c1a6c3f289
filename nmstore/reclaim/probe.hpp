// How long a git ref write takes on a volume right now (SPEC 7.1): create <ref>.lock exclusively, write, close, rename,
// as git's files backend does it, in a scratch repository of our own; with fsync of file and directory besides.
//
// The writes are done by a child. One that gets no answer is stuck in the kernel and cannot be killed, so there is never
// a second request while one is outstanding.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/platform/worker.hpp"

namespace pfnm {

enum class Depth { felt, deep };  // deep: both

struct ProbeSample {
  std::int64_t felt_us = 0;
  std::int64_t deep_us = -1;    // -1: not asked for
  std::uint32_t contended = 0;  // lock files found held: contention, not a stall; another ref was written
};

class Prober {
 public:
  // `scratch` is made a bare repository where it is none yet (by the child: that, too, may hang); its parent must exist.
  [[nodiscard]] static Result<Prober> start(const std::string& scratch);

  // Errc::busy while a request is outstanding.
  [[nodiscard]] Status ask(Depth depth);
  // Nothing: no answer in time. The request stays outstanding; a later call may still get it. An error where the write
  // failed (no space, read-only, ...), which is no stall but no answer either.
  [[nodiscard]] Result<std::optional<ProbeSample>> answer(std::chrono::milliseconds limit);
  [[nodiscard]] Result<std::optional<ProbeSample>> sample(Depth depth, std::chrono::milliseconds limit);
  [[nodiscard]] const std::string& scratch() const { return scratch_; }

 private:
  Prober(std::string scratch, Worker worker) : scratch_(std::move(scratch)), worker_(std::move(worker)) {}
  std::string scratch_;
  Worker worker_;
  bool outstanding_ = false;
};

struct Latency {
  std::int64_t p50_us = 0;
  std::int64_t p99_us = 0;
  std::int64_t max_us = 0;
  std::int64_t min_us = 0;
};
// Nearest-rank percentiles. All 0 where there is no sample.
[[nodiscard]] Latency summarise(std::vector<std::int64_t> samples_us);

}  // namespace pfnm
