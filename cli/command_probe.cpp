#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/json_text.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/reclaim/probe.hpp"

namespace pfnm {
namespace {

constexpr std::chrono::milliseconds k_no_answer{10'000};

// Where a scratch repository may be: in the git directory of a worktree, else in a directory of its own.
Result<std::string> scratch_for(const std::string& directory) {
  PFNM_TRY_ASSIGN(const std::string real, real_path(directory));
  const auto worktree = find_worktree(real);
  if (worktree.has_value()) return worktree->common_dir + "/pfnm-probe-" + std::to_string(::getpid());
  return real + "/.pfnm-probe-" + std::to_string(::getpid());
}

std::string milliseconds(std::int64_t us) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(us) / 1000.0);
  return text.data();
}

std::string latency_as_json(const Latency& latency) {
  JsonObject object;
  object.raw("p50", milliseconds(latency.p50_us)).raw("p99", milliseconds(latency.p99_us));
  return object.raw("max", milliseconds(latency.max_us)).render();
}

std::string latency_in_words(const char* name, const Latency& latency) {
  return std::string(name) + "  min " + milliseconds(latency.min_us) + "  median " + milliseconds(latency.p50_us) +
         "  p99 " + milliseconds(latency.p99_us) + "  max " + milliseconds(latency.max_us) + " ms";
}

// Eight heights from nothing to the hard limit of a reclaim, on a scale of decades: 0.1 ms to 1 s.
std::string sparkline(const std::vector<std::int64_t>& samples_us) {
  constexpr std::array<const char*, 8> k_bars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t first = samples_us.size() > 60 ? samples_us.size() - 60 : 0;
  std::string line;
  for (std::size_t i = first; i < samples_us.size(); ++i) {
    std::size_t height = 0;
    for (std::int64_t limit = 100; limit < samples_us[i] && height + 1 < k_bars.size(); limit = limit * 18 / 5) ++height;
    line += k_bars[height];
  }
  return line;
}

volatile sig_atomic_t interrupted = 0;
void on_interrupt(int) { interrupted = 1; }

class ProbeCommand {
 public:
  ProbeCommand(const ProbeOptions& options, Prober prober) : options_(options), prober_(std::move(prober)) {}

  // Errors: a ref write failed; nothing is said then of how long it takes.
  Result<ExitCode> run() {
    if (options_.watch == ProbeOptions::Watch::yes) std::ignore = ::signal(SIGINT, &on_interrupt);
    const bool terminal = ::isatty(1) == 1;
    for (unsigned i = 0; (options_.watch == ProbeOptions::Watch::yes || i < options_.samples) && interrupted == 0; ++i) {
      if (i > 0) std::ignore = ::poll(nullptr, 0, static_cast<int>(options_.interval_ms));
      PFNM_TRY_ASSIGN(const auto sample, prober_.sample(Depth::deep, k_no_answer));
      if (!sample) return stalled();
      felt_.push_back(sample->felt_us);
      deep_.push_back(sample->deep_us);
      contended_ += sample->contended;
      if (options_.watch == ProbeOptions::Watch::yes) show(terminal);
    }
    return write_result(render());
  }

 private:
  ExitCode stalled() {
    std::ignore = write_result({"", "BLIND why=fs-stalled\na ref write in " + prober_.scratch() +
                                        " did not come back in 10 s\n"});
    return ExitCode::stalled;
  }

  void show(bool terminal) const {  // NOLINT: what stdout is
    if (options_.form == OutputForm::json) return;
    const std::string line = latency_in_words("felt", summarise(felt_)) + "  " + sparkline(felt_);
    std::ignore = write_result({terminal ? "\r\x1b[K" + line : line + "\n", ""});
  }

  [[nodiscard]] std::string sample_list(const std::vector<std::int64_t>& samples_us) const {
    std::vector<std::string> values;
    for (const std::int64_t us : samples_us) values.push_back(milliseconds(us));
    return json_array(values);
  }

  [[nodiscard]] Rendered render() const {
    if (options_.form == OutputForm::json) {
      JsonObject object;
      object.text("schema", "pfnm.probe/1")
          .text("scratch", prober_.scratch())
          .raw("felt_ms", latency_as_json(summarise(felt_)))
          .raw("deep_ms", latency_as_json(summarise(deep_)))
          .number("samples", felt_.size())
          .number("contended", contended_)
          .raw("felt_samples_ms", sample_list(felt_))
          .raw("deep_samples_ms", sample_list(deep_));
      return {object.render() + "\n", ""};
    }
    std::string text = options_.watch == ProbeOptions::Watch::yes && ::isatty(1) == 1 ? "\n" : "";
    text += latency_in_words("ref write         ", summarise(felt_)) + "\n";
    text += latency_in_words("ref write + fsync ", summarise(deep_)) + "\n";
    text += std::to_string(felt_.size()) + " samples";
    if (contended_ > 0) text += ", " + std::to_string(contended_) + " found a lock held";
    return {text + "\n", ""};
  }

  const ProbeOptions& options_;
  Prober prober_;
  std::vector<std::int64_t> felt_;
  std::vector<std::int64_t> deep_;
  std::uint64_t contended_ = 0;
};

}  // namespace

ExitCode command_probe(const Session& session, const ProbeOptions& options) {
  const auto scratch = scratch_for(session.absolute(options.directory));
  if (!scratch.has_value()) return report_error(scratch.error());
  auto prober = Prober::start(*scratch);
  if (!prober.has_value()) return report_error(prober.error());
  auto ended = ProbeCommand(options, std::move(*prober)).run();
  // Not on a volume that does not answer: this process would hang, too.
  if (!ended.has_value() || *ended != ExitCode::stalled) std::ignore = remove_tree(session.fs, AT_FDCWD, *scratch);
  return ended.has_value() ? *ended : report_error(ended.error());
}

}  // namespace pfnm
