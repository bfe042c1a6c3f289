#include <fcntl.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/gc_scope.hpp"
#include "cli/render_gc.hpp"
#include "cli/time_text.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

class LedgerLog final : public GcLog {
 public:
  LedgerLog(Ledger& ledger, std::int64_t run, std::string store) : ledger_(ledger), run_(run), store_(std::move(store)) {}

  Result<std::int64_t> intend(GcStep step, const std::string& subject, std::uint64_t bytes) override {
    LedgerEntry entry;
    entry.run = run_;
    entry.store = store_;
    entry.step = step_word(step);
    entry.subject = subject;
    entry.bytes = bytes;
    entry.intended_at = seconds_now();
    return ledger_.intend(entry);
  }
  Status end(std::int64_t entry, const std::string& outcome, const std::string& detail) override {
    return ledger_.end(entry, outcome, detail, seconds_now());
  }

 private:
  Ledger& ledger_;
  std::int64_t run_;
  std::string store_;
};

// What became of an entry that a stopped run left open, from what is there now.
std::string truth_about(const Store& store, const Trash& trash, const LedgerEntry& entry) {
  if (entry.step == step_word(GcStep::reclaim)) {
    const auto name = InstallName::parse(entry.subject);
    const auto is_there = [](const std::string& path) {
      const auto st = find_stat(AT_FDCWD, path);
      return st.has_value() && *st;
    };
    const auto in_state = [&](TrashState state) {
      return std::any_of(trash.items.begin(), trash.items.end(), [&](const TrashItem& item) {
        return item.install == name && item.state == state;
      });
    };
    if (name && is_there(store.paths.seal(*name))) return "interrupted: it is where it was";
    if (in_state(TrashState::whole) || in_state(TrashState::doomed)) return "trashed";
    if (in_state(TrashState::pending)) return "interrupted: to be put back";
    const bool unsealed = name && is_there(store.paths.install(*name));  // an interrupted build
    return unsealed ? "interrupted: it is where it was" : "interrupted: it is gone";
  }
  const auto is_it = [&](const TrashItem& item) { return item.id == entry.subject; };
  if (std::any_of(trash.items.begin(), trash.items.end(), is_it)) return "interrupted: to be gone on with";
  return entry.step == step_word(GcStep::remove) ? "gone: deleted, or taken back" : "done";
}

Status reconcile(Ledger& ledger, const Store& store, const Trash& trash) {
  PFNM_TRY_ASSIGN(const auto unfinished, ledger.unfinished(store.paths.root()));
  for (const LedgerEntry& entry : unfinished)
    PFNM_TRY(ledger.end(entry.id, truth_about(store, trash, entry), "found by the next run", seconds_now()));
  return {};
}

std::string ledger_path(const GcSettings& settings) { return settings.state_dir + "/ledger.db"; }

Result<Ledger> open_ledger(const Fs& fs, const GcSettings& settings) {
  PFNM_TRY(fs.ensure_dirs(settings.state_dir, 0700));
  PFNM_TRY(fs.set_mode(AT_FDCWD, settings.state_dir, 0700));
  return Ledger::open(ledger_path(settings));
}

bool same_volume(const std::string& a, const std::string& b) {
  const auto first = stat_at(AT_FDCWD, a);
  const auto second = stat_at(AT_FDCWD, b);
  return !first.has_value() || !second.has_value() || first->dev == second->dev;
}

std::string when_it_would(const NightWindow& window, std::int64_t now) {
  const auto next = window.next_opening(now);
  if (!next) return "outside the nightly window, which never opens (pfnm.nightWindow): nothing was done";
  return "outside the nightly window: nothing was done; it opens at " + rfc3339(*next) + ", and --now does not wait";
}

class GcCommand {
 public:
  GcCommand(const Session& session, const GcOptions& options, Store store, GitCli git, GcSettings settings)
      : session_(session), options_(options), store_(std::move(store)), git_(std::move(git)),
        settings_(std::move(settings)), progress_(2) {
    policy_.max_bytes = options.max_bytes;
    answer_.store = store_.paths.root();
  }

  ExitCode run() {
    progress_.note("looking for what uses the installs");
    const GcFacts facts = survey_gc(store_, survey_scope(KeepMemos::in_background));
    answer_.plan = plan_gc(facts, policy_, options_.now());
    answer_.hidden_processes = facts.hidden_processes;
    const bool blind = !answer_.plan.blind.empty();
    if (options_.apply == Apply::no) return finish(blind ? ExitCode::blind : ExitCode::done);
    if (!may_run_now()) {
      answer_.stopped = "window";
      answer_.why = when_it_would(settings_.window, options_.now());
      return finish(ExitCode::done);
    }
    if (blind) {
      answer_.stopped = "blind";
      return finish(ExitCode::blind);
    }
    return apply();
  }

 private:
  [[nodiscard]] bool may_run_now() const {
    return options_.wait == Wait::now || settings_.window.contains(options_.now());  // guard:window
  }

  GcScope survey_scope(KeepMemos memos) { return survey_gc_scope({session_.fs, store_, git_, settings_, memos}); }

  ExitCode finish(ExitCode code) {
    const ExitCode written = write_result(render_gc(answer_, options_.form));
    return code == ExitCode::done ? written : code;
  }

  ExitCode failed(const Error& error) {
    answer_.stopped = "failed";
    answer_.why = error.message();
    std::ignore = finish(ExitCode::error);
    return exit_code_of(error.code);
  }

  ExitCode stalled(const char* code, const std::string& why) {
    answer_.stopped = code;
    answer_.why = why;
    return finish(ExitCode::stalled);
  }

  // Nothing of this process writes to the store's volume before a ref write there has come back.
  ExitCode apply() {
    scratches_ = probe_scratches(store_, known_repositories(store_));
    RemoverOptions remover_options;
    remover_options.pacer = options_.pacer;
    remover_options.go_on = [this] { return may_run_now(); };
    remover_options.on_step = [this](const PacerStep& step, std::uint64_t entries) { on_step(step, entries); };
    auto remover = Remover::start(session_.fs, store_.paths.trash(), scratches_, std::move(remover_options));
    if (!remover.has_value()) return failed(remover.error());
    if (remover->stalled()) return stalled("fs-stalled", remover->stall());
    const auto lock = FileLock::try_acquire(session_.fs, store_.paths.gc_lock(), LockMode::exclusive);
    if (!lock.has_value()) return failed(lock.error());
    if (!*lock) return failed(Error::make(Errc::busy, "reclaim in", store_.paths.root(), "another pfnm gc is at it"));
    auto ledger = open_ledger(session_.fs, settings_);
    if (!ledger.has_value()) return failed(ledger.error());
    return apply_recorded(*remover, *ledger);
  }

  void on_step(const PacerStep& step, std::uint64_t entries) {
    progress_.count(entries, 0, "entries");
    if (steps_.size() < 10'000 && (step.pace != last_pace_ || step.pace == Pace::back_off || step.pace == Pace::stop))
      steps_.push_back(pace_word(step.pace) + ": batch " + std::to_string(step.batch) + ", pause " +
                       std::to_string(step.pause_ms) + " ms; " + step.why);
    last_pace_ = step.pace;
  }

  ExitCode apply_recorded(Remover& remover, Ledger& ledger) {
    // As it is now: another gc may have been at it between the survey and the lock.
    const auto trash = list_trash(store_);
    if (!trash.has_value()) return failed(trash.error());
    if (const auto told = reconcile(ledger, store_, *trash); !told.has_value()) return failed(told.error());
    const auto run = ledger.begin_run(store_.paths.root(), seconds_now());
    if (!run.has_value()) return failed(run.error());
    LedgerLog log(ledger, *run, store_.paths.root());
    const GcRequest request{session_.fs, store_, policy_, log, [this] { return survey_scope(KeepMemos::yes); },
                            options_.now, [this] { return may_run_now(); },
                            [this](const std::string& text) { progress_.note(text); }};
    answer_.report = apply_gc(request, answer_.plan, remover);
    answer_.applied = GcAnswer::Applied::yes;
    const bool stopped_by_stall = answer_.report.stopped == GcReport::Stopped::stalled;
    // The next run finds out what became of it.
    if (!stopped_by_stall || state_lies_elsewhere()) record(ledger, *run);
    if (stopped_by_stall) return stalled("fs-stall-during-delete", answer_.report.why);
    drop_scratches();
    return conclude();
  }

  // Than on any of the volumes that are probed: which of them stalled is not asked.
  [[nodiscard]] bool state_lies_elsewhere() const {
    return std::none_of(scratches_.begin(), scratches_.end(), [this](const std::string& scratch) {
      return same_volume(settings_.state_dir, scratch.substr(0, scratch.find_last_of('/')));
    });
  }

  void record(Ledger& ledger, std::int64_t run) {
    std::string result = "done";
    if (answer_.report.stopped != GcReport::Stopped::no) result = "stopped: " + answer_.report.why;
    for (const std::string& step : steps_) std::ignore = ledger.note_step(run, step, seconds_now());
    const auto ended = ledger.end_run(run, result, answer_.report.freed_bytes, seconds_now());
    if (!ended.has_value()) answer_.why = ended.error().message();
  }

  // Those in repositories; the store's own stays.
  void drop_scratches() {
    for (std::size_t i = 1; i < scratches_.size(); ++i)
      std::ignore = remove_tree(session_.fs, AT_FDCWD, scratches_[i]);  // found again and used by the next run
  }

  ExitCode conclude() {
    switch (answer_.report.stopped) {
      case GcReport::Stopped::no:
        if (answer_.report.failures == 0) break;
        answer_.why = std::to_string(answer_.report.failures) + " could not be moved: see what failed; the rest is done";
        return finish(ExitCode::error);
      case GcReport::Stopped::window:
        answer_.stopped = "window";
        answer_.why = answer_.report.why + ": the rest waits for the next";
        break;
      case GcReport::Stopped::failed:
      case GcReport::Stopped::stalled:
        answer_.stopped = "failed";
        answer_.why = answer_.report.why;
        return finish(ExitCode::error);
    }
    return finish(ExitCode::done);
  }

  const Session& session_;
  const GcOptions& options_;
  Store store_;
  GitCli git_;
  GcSettings settings_;
  Progress progress_;
  GcPolicy policy_;
  GcAnswer answer_;
  std::vector<std::string> scratches_;
  std::vector<std::string> steps_;
  Pace last_pace_ = Pace::stop;
};

Result<std::vector<HistoryRun>> read_history(const GcSettings& settings) {
  std::vector<HistoryRun> history;
  PFNM_TRY_ASSIGN(const auto there, find_stat(AT_FDCWD, ledger_path(settings)));
  if (!there) return history;
  PFNM_TRY_ASSIGN(Ledger ledger, Ledger::open(ledger_path(settings), OpenMode::read));
  PFNM_TRY_ASSIGN(const auto runs, ledger.runs(50));
  for (const LedgerRun& run : runs) {
    PFNM_TRY_ASSIGN(auto entries, ledger.entries_of(run.id));
    history.push_back({run, std::move(entries)});
  }
  return history;
}

ExitCode show_history(const GcSettings& settings, OutputForm form) {
  const auto history = read_history(settings);
  if (!history.has_value()) return report_error(history.error());
  return write_result(render_history(*history, form));
}

}  // namespace

ExitCode command_gc(const Session& session, const GcOptions& options) {
  auto git = session.git();
  if (!git.has_value()) return report_error(git.error());
  auto settings = read_gc_settings(*git, session.process);
  if (!settings.has_value()) return report_error(settings.error());
  if (options.history == GcOptions::History::yes) return show_history(*settings, options.form);
  auto store = session.existing_store();
  if (!store.has_value() && store.error().code == Errc::not_found) {
    GcAnswer nothing;
    nothing.store = session.process.store_root().value_or("");
    return write_result(render_gc(nothing, options.form));
  }
  if (!store.has_value()) return report_error(store.error());
  return GcCommand(session, options, std::move(*store), std::move(*git), std::move(*settings)).run();
}

}  // namespace pfnm
