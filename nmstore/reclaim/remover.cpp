#include "nmstore/reclaim/remover.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "nmstore/reclaim/removal_child.hpp"

namespace pfnm {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds k_between_probes{10};

template <typename T>
T from_bytes(const std::string& bytes) {
  T value;
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&value));  // what our own child wrote
  return value;
}

std::int64_t median(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::int64_t in_ms(std::int64_t us) { return (us + 999) / 1000; }

void append_lines(std::string_view text, std::vector<std::string>& lines) {
  while (!text.empty()) {
    const auto newline = text.find('\n');
    lines.emplace_back(text.substr(0, newline));
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
  }
}

}  // namespace

Remover::Remover(Worker worker, std::vector<Prober> probers, RemoverOptions options)
    : worker_(std::move(worker)), probers_(std::move(probers)), options_(std::move(options)), pacer_(options_.pacer, 0, 0) {}

Result<Remover> Remover::start(const Fs& fs, const std::string& directory, const std::vector<std::string>& scratches,
                               RemoverOptions options) {
  std::vector<Prober> probers;
  for (const std::string& scratch : scratches) {
    PFNM_TRY_ASSIGN(Prober prober, Prober::start(scratch));
    probers.push_back(std::move(prober));
  }
  PFNM_TRY_ASSIGN(Worker worker,
                  Worker::start([&](const WorkerChannel& channel) { serve_removals(fs, directory, channel); }));
  Remover remover(std::move(worker), std::move(probers), std::move(options));
  PFNM_TRY(remover.take_baseline());
  return remover;
}

Status Remover::take_baseline() {
  std::int64_t felt = 0;
  std::int64_t deep = 0;
  for (Prober& prober : probers_) {
    std::vector<std::int64_t> felts;
    std::vector<std::int64_t> deeps;
    for (int i = 0; i < 5; ++i) {
      PFNM_TRY_ASSIGN(const auto sample, prober.sample(Depth::deep, Milliseconds(options_.pacer.no_answer_ms)));
      if (!sample) {
        stall("a ref write beside " + prober.scratch() + " did not come back in " +
              std::to_string(options_.pacer.no_answer_ms) + " ms, before anything was deleted");
        return {};
      }
      felts.push_back(in_ms(sample->felt_us));
      deeps.push_back(in_ms(sample->deep_us));
    }
    felt = std::max(felt, median(felts));
    deep = std::max(deep, median(deeps));
  }
  pacer_ = Pacer(options_.pacer, felt, deep);
  if (pacer_.current().pace == Pace::stop) stall("the volume was slow before anything was deleted: " + pacer_.current().why);
  if (options_.on_step) options_.on_step(pacer_.current(), 0);
  return {};
}

Status Remover::look() {
  if (stalled()) return {};
  for (Prober& prober : probers_) PFNM_TRY(prober.ask(Depth::felt));
  PFNM_TRY_ASSIGN(const auto felt, felt_now());
  if (felt && *felt > options_.pacer.hard_ms)
    stall("fs-stall-during-delete: a ref write took " + std::to_string(*felt) + " ms");
  return {};
}

// The slowest of the volumes. Nothing: one did not answer.
Result<std::optional<std::int64_t>> Remover::felt_now() {
  std::int64_t felt = 0;
  for (Prober& prober : probers_) {
    PFNM_TRY_ASSIGN(const auto sample, prober.answer(Milliseconds(options_.pacer.no_answer_ms)));
    if (!sample) {
      stall("fs-stall-during-delete: a ref write beside " + prober.scratch() + " did not come back in " +
            std::to_string(options_.pacer.no_answer_ms) + " ms");
      return std::optional<std::int64_t>{};
    }
    felt = std::max(felt, in_ms(sample->felt_us));
  }
  return std::optional<std::int64_t>{felt};
}

// Ref writes begin after the batch's last unlink and go on while the debt is being paid: what anybody else's would feel
// just now. The slowest counts. False: stalled.
Result<bool> Remover::settle(PacerSample& sample) {
  const RemovalRequest request{RemovalOrder::sync, 0, 0};
  PFNM_TRY(worker_.send(&request, sizeof(request)));
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    for (Prober& prober : probers_) PFNM_TRY(prober.ask(Depth::felt));
    PFNM_TRY_ASSIGN(const auto felt, felt_now());
    if (!felt) return false;
    sample.felt_ms = std::max(sample.felt_ms, *felt);
    PFNM_TRY_ASSIGN(const auto bytes, worker_.receive(sizeof(RemovalAnswer), k_between_probes));
    if (bytes) {
      sample.sync_ms = from_bytes<RemovalAnswer>(*bytes).took_ms;
      return true;
    }
    if (std::chrono::steady_clock::now() - start > Milliseconds(options_.pacer.no_answer_ms)) break;
  }
  stall("fs-stall-during-delete: syncfs did not come back in " + std::to_string(options_.pacer.no_answer_ms) + " ms");
  return false;
}

Result<RemovalReport> Remover::remove(const std::string& name) {
  RemovalReport report;
  const auto ended = [&](RemovalEnd end) {
    report.end = end;
    report.why = stall_;
    return report;
  };
  if (stalled()) return ended(RemovalEnd::stalled);
  if (stopped_) return ended(RemovalEnd::told_to_stop);
  const RemovalRequest request{RemovalOrder::remove, static_cast<std::uint32_t>(name.size()), 0};
  PFNM_TRY(worker_.send(&request, sizeof(request)));
  PFNM_TRY(worker_.send(name.data(), name.size()));
  while (true) {
    stopped_ = options_.go_on && !options_.go_on();
    if (stopped_) return ended(RemovalEnd::told_to_stop);
    const RemovalRequest batch{RemovalOrder::batch, pacer_.current().batch,
                               static_cast<std::uint32_t>(options_.pacer.longest_batch_ms)};
    PFNM_TRY(worker_.send(&batch, sizeof(batch)));
    PFNM_TRY_ASSIGN(const auto bytes, worker_.receive(sizeof(RemovalAnswer), Milliseconds(options_.pacer.no_answer_ms)));
    if (!bytes) {
      stall("fs-stall-during-delete: an unlink did not come back in " + std::to_string(options_.pacer.no_answer_ms) + " ms");
      return ended(RemovalEnd::stalled);
    }
    const auto answer = from_bytes<RemovalAnswer>(*bytes);
    report.entries += answer.unlinked;
    const bool done = answer.state == RemovalState::done;
    if (done && answer.left_bytes > 0) {
      PFNM_TRY_ASSIGN(const auto left, worker_.receive(answer.left_bytes, Milliseconds(options_.pacer.no_answer_ms)));
      append_lines(left.value_or(name + ": something is left, and what it is was not heard\n"), report.left);
    }
    PFNM_TRY_ASSIGN(const bool settled, pay_and_pace({answer.unlinked, answer.took_ms, 0, 0}, report.entries));
    if (!settled) return ended(RemovalEnd::stalled);
    if (done) return ended(report.left.empty() ? RemovalEnd::done : RemovalEnd::left_some);
  }
}

// False: stalled.
Result<bool> Remover::pay_and_pace(PacerSample sample, std::uint64_t entries) {
  if (sample.unlinked == 0) return true;
  PFNM_TRY_ASSIGN(const bool settled, settle(sample));
  if (!settled) return false;
  const PacerStep& step = pacer_.next(sample);
  if (options_.on_step) options_.on_step(step, entries);
  if (step.pace == Pace::stop) {
    stall("fs-stall-during-delete: " + step.why);
    return false;
  }
  if (step.pause_ms > 0) std::ignore = ::poll(nullptr, 0, static_cast<int>(step.pause_ms));
  return true;
}

}  // namespace pfnm
