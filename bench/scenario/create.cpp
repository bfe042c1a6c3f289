// The scenario "a worktree gets its node_modules": SPEC 13, rows 1 and 2, each beside its floor. See bench/README.md.
#include <fcntl.h>
#include <sys/statfs.h>

#include <cstdio>

#include "bench/scenario/options.hpp"
#include "bench/scenario/replay_script.hpp"
#include "bench/scenario/report.hpp"
#include "bench/scenario/scratch.hpp"
#include "bench/scenario/stand_in.hpp"
#include "bench/support/synthetic.hpp"
#include "nmstore/lock/npm_lock.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/platform/read.hpp"

namespace {

using namespace pfnm;
using namespace pfnm::bench;

constexpr double k_link_bar = 1.5;  // SPEC 13, row 1
constexpr double k_hook_bar = 3.0;  // SPEC 13, row 2

std::string file_system_of(const std::string& path) {
  struct statfs fs {};
  if (::statfs(path.c_str(), &fs) != 0) return "an unknown file system";
  switch (static_cast<unsigned long>(fs.f_type)) {
    case 0xEF53UL:
      return "ext4";
    case 0x01021994UL:
      return "tmpfs";
    case 0x58465342UL:
      return "xfs";
    case 0x9123683EUL:
      return "btrfs";
    case 0x794C7630UL:
      return "overlayfs";
    default:
      return "an unknown file system";
  }
}

void say(const std::string& text) { std::fprintf(stderr, "bench_create: %s\n", text.c_str()); }

// Which lines a program's output must have for its time to count.
enum class Expect { anything, linked, unchanged, relinked, silence };

bool is_expected(Expect expect, const Finished& finished) {
  const auto says = [&](std::string_view action) {
    const auto at = finished.out.find("\"action\"");
    return at != std::string::npos && finished.out.find(action, at) < at + 14;
  };
  switch (expect) {
    case Expect::anything:
      return true;
    case Expect::linked:
      return says("\"linked\"");
    case Expect::unchanged:
      return says("\"unchanged\"");
    case Expect::relinked:
      return says("\"relinked\"");
    case Expect::silence:
      return finished.out.empty();
  }
  return false;
}

Result<Timing> time_one(const Command& command, Expect expect) {
  PFNM_TRY_ASSIGN(const Finished finished, run_timed(command));
  if (finished.exit_code == 0 && is_expected(expect, finished)) return finished.timing;
  std::string words;
  for (const std::string& word : command.argv) words += (words.empty() ? "" : " ") + word;
  return fail(Error::make(Errc::failed_child, "time", words,
                          "exit code " + std::to_string(finished.exit_code) + ", output: " + finished.out));
}

class Scenario {
 public:
  Scenario(const CreateOptions& options, const Scratch& scratch) : options_(options), scratch_(scratch) {}

  Result<CreateReport> run() {
    PFNM_TRY(prepare());
    PFNM_TRY(time_links());
    PFNM_TRY(time_hooks());
    PFNM_TRY(check_replayed(script_, floors_.front()));
    PFNM_TRY(check_replayed(script_, standing_));
    return report();
  }

 private:
  Status prepare() {
    say("building the install");
    PFNM_TRY_ASSIGN(standing_, scratch_.add_worktree("standing", Lock::base));
    PFNM_TRY(run_checked(scratch_.pfnm(standing_, {"link"})));
    if (scratch_.has_changed_lock()) {
      PFNM_TRY_ASSIGN(const std::string changed, scratch_.add_worktree("changed", Lock::changed));
      PFNM_TRY(run_checked(scratch_.pfnm(changed, {"link"})));
    }
    PFNM_TRY_ASSIGN(install_, install_of(standing_));
    PFNM_TRY_ASSIGN(script_, script_for(standing_));
    PFNM_TRY(Fs().create_file(AT_FDCWD, script_path(), script_.text));
    say("making worktrees");
    PFNM_TRY(add_worktrees("link", options_.rounds, links_));
    PFNM_TRY(add_worktrees("floor", options_.rounds, floors_));
    PFNM_TRY(add_worktrees("hard", options_.copy_rounds, hard_));
    if (options_.copy_rounds > 0) PFNM_TRY(copy_install());
    if (options_.copy_rounds == 0) hard_link_.skipped = "--copy-rounds 0";
    PFNM_TRY_ASSIGN(const bool can_clone, can_reflink());
    if (can_clone) {
      PFNM_TRY(add_worktrees("reflink", options_.copy_rounds, reflinks_));
    } else {
      reflink_.skipped = "this file system has no reflinks";
    }
    if (options_.project.empty()) {
      npm_.skipped = "needs --project and a network";
    } else if (options_.npm_rounds == 0) {
      npm_.skipped = "--npm-rounds 0";
    } else {
      PFNM_TRY(add_worktrees("npm", options_.npm_rounds, npms_));
    }
    if (!scratch_.has_changed_lock()) relink_.skipped = "only for the made-up project";
    return scratch_.settle();
  }

  // A hard link moves its file's ctime, and pfnm would look closer at an install whose files have another one: what is
  // copied is a copy.
  Status copy_install() {
    PFNM_TRY_ASSIGN(copied_, scratch_.add_worktree("copied", Lock::base));
    PFNM_TRY(run_checked(scratch_.tool("cp", copied_, {"-a", install_ + "/node_modules", "."})));
    return {};
  }

  Status add_worktrees(const std::string& name, std::size_t count, std::vector<std::string>& paths) const {
    for (std::size_t i = 0; i < count; ++i) {
      PFNM_TRY_ASSIGN(std::string path, scratch_.add_worktree(name + "-" + std::to_string(i), Lock::base));
      paths.push_back(std::move(path));
    }
    return {};
  }

  [[nodiscard]] std::string script_path() const { return scratch_.root() + "/replay-script"; }

  Result<bool> can_reflink() const {
    const std::string to = scratch_.root() + "/reflink-test";
    PFNM_TRY_ASSIGN(const Finished tried,
                    run_timed(scratch_.tool("cp", scratch_.root(), {"--reflink=always", script_path(), to})));
    return tried.exit_code == 0;
  }

  static Status add(Row& row, const Command& command, Expect expect) {
    PFNM_TRY_ASSIGN(const Timing timing, time_one(command, expect));
    row.timings.push_back(timing);
    return {};
  }

  Status time_link(std::size_t round) {
    return add(link_, scratch_.pfnm(links_[round], {"link", "--json"}), Expect::linked);
  }
  Status time_floor(std::size_t round) {
    return add(replay_, scratch_.replay(script_path(), floors_[round]), Expect::silence);
  }

  // Whoever comes second finds the journal fuller: they take turns.
  Status time_links() {
    for (std::size_t round = 0; round < options_.rounds; ++round) {
      say("round " + std::to_string(round + 1) + " of " + std::to_string(options_.rounds));
      PFNM_TRY(round % 2 == 0 ? time_floor(round) : time_link(round));
      PFNM_TRY(round % 2 == 0 ? time_link(round) : time_floor(round));
      PFNM_TRY(add(again_, scratch_.pfnm(links_[round], {"link", "--json"}), Expect::unchanged));
      if (scratch_.has_changed_lock()) {
        PFNM_TRY(scratch_.check_out(links_[round], Lock::changed));
        PFNM_TRY(add(relink_, scratch_.pfnm(links_[round], {"link", "--json"}), Expect::relinked));
      }
      PFNM_TRY(time_copies(round));
      PFNM_TRY(scratch_.settle());
    }
    return {};
  }

  Status time_copies(std::size_t round) {
    const std::string source = copied_ + "/node_modules";
    if (round < hard_.size())
      PFNM_TRY(add(hard_link_, scratch_.tool("cp", hard_[round], {"-al", source, "."}), Expect::silence));
    if (round < reflinks_.size())
      PFNM_TRY(add(reflink_, scratch_.tool("cp", reflinks_[round], {"-a", "--reflink=always", source, "."}),
                   Expect::silence));
    if (round < npms_.size())
      PFNM_TRY(add(npm_, scratch_.tool("npm", npms_[round], {"ci", "--no-audit", "--no-fund", "--ignore-scripts"}),
                   Expect::anything));
    return {};
  }

  Status time_hooks() {
    if (options_.hook_rounds == 0) return {};
    PFNM_TRY_ASSIGN(std::string head, run_checked(scratch_.tool("git", standing_, {"rev-parse", "HEAD"})));
    head.resize(head.find_last_not_of('\n') + 1);
    const Command hook = scratch_.pfnm(standing_, {"hook", "post-checkout", head, head, "1"});
    const Command git = scratch_.tool("git", standing_, {"rev-parse", "HEAD"});
    for (std::size_t round = 0; round < options_.hook_rounds; ++round) {
      PFNM_TRY(add(git_, git, Expect::anything));
      PFNM_TRY(add(hook_, hook, Expect::silence));
      PFNM_TRY(add(empty_, scratch_.nothing(), Expect::silence));
    }
    return {};
  }

  Result<CreateReport> report() {
    CreateReport report;
    report.project = options_.project.empty() ? "made-up project" : "a real project";
    report.file_system = file_system_of(scratch_.root());
    PFNM_TRY_ASSIGN(const std::string lock, read_file(AT_FDCWD, standing_ + "/package-lock.json"));
    PFNM_TRY_ASSIGN(const NpmLock parsed, parse_npm_lock(lock, "package-lock.json"));
    report.sizes = {{"lock entries", parsed.entries.size()},
                    {"directories", script_.directories},
                    {"links", script_.links},
                    {"copies", script_.copies}};
    for (Row* row : {&replay_, &link_, &again_, &relink_, &hard_link_, &reflink_, &npm_, &git_, &hook_, &empty_})
      report.rows.push_back(std::move(*row));
    return report;
  }

  const CreateOptions& options_;
  const Scratch& scratch_;
  std::string install_;
  std::string standing_;  // linked before timing; the hook runs here
  std::string copied_;    // holds a copy of the install
  ReplayScript script_;
  std::vector<std::string> links_, floors_, hard_, reflinks_, npms_;

  Row replay_{"replay", "the same plan, bare", "", 0, {}, {}};
  Row link_{"link", "`pfnm link`, known lock, fresh worktree", "replay", k_link_bar, {}, {}};
  Row again_{"link-again", "`pfnm link`, nothing to do", "replay", 0, {}, {}};
  Row relink_{"relink", "`pfnm link`, the lock differs in 1 % of its packages", "replay", 0, {}, {}};
  Row hard_link_{"cp-al", "`cp -al` of the whole tree", "replay", 0, {}, {}};
  Row reflink_{"cp-reflink", "`cp -a --reflink=always` of it", "replay", 0, {}, {}};
  Row npm_{"npm-ci", "`npm ci --ignore-scripts`, warm cache", "replay", 0, {}, {}};
  Row git_{"rev-parse", "`git rev-parse HEAD`", "", 0, {}, "--hook-rounds 0"};
  Row hook_{"hook", "`pfnm hook post-checkout`, nothing to do", "rev-parse", k_hook_bar, {}, "--hook-rounds 0"};
  Row empty_{"empty", "a static program that does nothing", "rev-parse", 0, {}, "--hook-rounds 0"};
};

Result<CreateReport> measure(const CreateOptions& options) {
  PFNM_TRY_ASSIGN(const Scratch scratch, Scratch::make(options));
  return Scenario(options, scratch).run();
}

int fail_with(const Error& error) {
  std::fprintf(stderr, "bench_create: %s\n", error.message().c_str());
  return error.code == Errc::usage ? 2 : 1;
}

int run(const std::vector<std::string>& arguments) {
  const auto options = parse_options(arguments);
  if (!options.has_value()) return fail_with(options.error());
  if (!*options) {
    std::fputs(std::string(usage_text()).c_str(), stdout);
    return 0;
  }
  const auto report = measure(**options);
  if (!report.has_value()) return fail_with(report.error());
  std::fputs(render_table(*report).c_str(), stdout);
  if (!(*options)->json.empty()) {
    const Status written = Fs().write_file(AT_FDCWD, (*options)->json, render_json(*report));
    if (!written.has_value()) return fail_with(written.error());
  }
  return bars_met(*report) == Met::yes ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string invoked_as = argv[0];
  const std::string name = invoked_as.substr(invoked_as.find_last_of('/') + 1);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (name == "node") return run_as_node();
  if (name == "npm") return run_as_npm(invoked_as, arguments);
  return run(arguments);
}
