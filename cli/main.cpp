// pfnm-main: everything that the front leaves to it. Parses the command line and hands over to one function per verb.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>

#include "cli/commands.hpp"

namespace pfnm {

namespace {

OutputForm form_of(bool json) { return json ? OutputForm::json : OutputForm::text; }  // NOLINT: CLI11 fills a bool

class CommandLine {
 public:
  explicit CommandLine(const Session& session) : session_(session) {
    app_.description("One immutable node_modules per lock, linked into every git worktree.");
    app_.name("pfnm");
    app_.set_version_flag("--version", "pfnm 0.1.0");
    app_.require_subcommand(1);
    add_init();
    add_link();
    add_status();
    add_install();
    add_hook();
    add_gc();
    add_probe();
    add_doctor();
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      const bool asked = error.get_exit_code() == 0;  // --help, --version
      app_.exit(error);
      return static_cast<int>(asked ? ExitCode::done : ExitCode::usage);
    }
    return static_cast<int>(chosen_ ? chosen_() : ExitCode::usage);
  }

 private:
  void add_link() {
    auto* link = app_.add_subcommand("link", "Give a worktree its node_modules, building the install if it is missing");
    link->add_option("WORKTREE", link_.directory, "A directory of the worktree (default: here)");
    link->add_option("--layout", link_.layout, "links or private");
    link->add_flag("--force", force_, "Move a node_modules that is in the way to the trash");
    link->add_flag("--json", json_, "One JSON object on stdout");
    link->callback([this] {
      chosen_ = [this] { return command_link(session_, link_options()); };
    });
    auto* copy = app_.add_subcommand("private", "Turn it into an independent, writable copy");
    copy->add_option("WORKTREE", link_.directory, "A directory of the worktree (default: here)");
    copy->add_flag("--force", force_, "Move a node_modules that is in the way to the trash");
    copy->add_flag("--json", json_, "One JSON object on stdout");
    copy->callback([this] {
      chosen_ = [this] { return command_private(session_, link_options()); };
    });
  }

  void add_init() {
    auto* init = app_.add_subcommand("init", "Make a repository provision its worktrees");
    init->add_option("REPOSITORY", init_.directory, "A directory of it (default: here)");
    init->add_flag("--undo", undo_, "Put everything back as it was");
    init->add_flag("--json", json_, "One JSON object on stdout");
    init->callback([this] {
      chosen_ = [this] {
        init_.undo = undo_ ? InitOptions::Undo::yes : InitOptions::Undo::no;
        init_.form = form_of(json_);
        return command_init(session_, init_);
      };
    });
  }

  LinkOptions link_options() {
    link_.force = force_ ? Force::yes : Force::no;
    link_.form = form_of(json_);
    return link_;
  }

  void add_status() {
    auto* status = app_.add_subcommand("status", "What this worktree uses, and whether it still is what it claims");
    status->add_option("WORKTREE", link_.directory, "A directory of the worktree (default: here)");
    status->add_flag("--json", json_, "One JSON object on stdout");
    status->callback([this] {
      chosen_ = [this] { return command_status(session_, {link_.directory, form_of(json_)}); };
    });
    auto* path = app_.add_subcommand("path", "The real directory behind a package");
    path->add_option("PACKAGE", package_, "Its name")->required();
    path->add_option("-C", link_.directory, "Look from this directory (default: here)");
    path->add_flag("--json", json_, "One JSON object on stdout");
    path->callback([this] {
      chosen_ = [this] { return command_path(session_, {link_.directory, package_, form_of(json_)}); };
    });
  }

  void add_install() {
    auto* install = app_.add_subcommand("install", "The installs of the store");
    install->require_subcommand(1);
    auto* ls = install->add_subcommand("ls", "List them");
    ls->add_option("--why", install_.key, "What went into this key (a prefix is enough)");
    ls->add_flag("--json", json_, "One JSON object on stdout");
    ls->callback([this] { chosen_ = [this] { return command_install_ls(session_, install_options()); }; });
    auto* build = install->add_subcommand("build", "Build the install of a worktree's lock without linking it");
    build->add_option("WORKTREE", install_.directory, "A directory of the worktree (default: here)");
    build->add_flag("--anew", anew_, "Build it again; what is there goes to the trash");
    build->add_flag("--json", json_, "One JSON object on stdout");
    build->callback([this] { chosen_ = [this] { return command_install_build(session_, install_options()); }; });
    auto* verify = install->add_subcommand("verify", "Read everything and name what was changed, removed or added");
    verify->add_option("KEY", install_.key, "Its key (a prefix is enough)");
    verify->add_flag("--all", all_, "Every install of the store");
    verify->add_flag("--json", json_, "One JSON object on stdout");
    verify->callback([this] { chosen_ = [this] { return command_install_verify(session_, install_options()); }; });
  }

  InstallOptions install_options() {
    install_.form = form_of(json_);
    install_.anew = anew_ ? Anew::yes : Anew::no;
    install_.all = all_ ? InstallOptions::All::yes : InstallOptions::All::no;
    return install_;
  }

  void add_hook() {
    auto* hook = app_.add_subcommand("hook", "What the git hooks call");
    hook->add_option("NAME", hook_, "post-checkout, post-merge or post-rewrite, and git's arguments");
    hook->prefix_command();
    hook->callback([this, hook] {
      auto arguments = hook_;
      for (const std::string& rest : hook->remaining()) arguments.push_back(rest);
      chosen_ = [this, arguments] { return command_hook(session_, arguments); };
    });
  }

  void add_gc() {
    auto* gc = app_.add_subcommand("gc", "Reclaim what nothing uses any more (a dry run unless --apply)");
    auto* apply = gc->add_flag("--apply", apply_, "Do it: to the trash first, deleted after a day, paced");
    gc->add_flag("--now", now_, "Do not wait for the nightly window")->needs(apply);
    gc->add_option("--max-bytes", max_bytes_, "Stop once this much was chosen (k, M, G, ... are understood)")
        ->transform(CLI::AsSizeValue(false));
    gc->add_flag("--history", history_, "What former runs did")->excludes(apply);
    gc->add_flag("--json", json_, "One JSON object on stdout");
    gc->callback([this, gc] {
      chosen_ = [this, gc] {
        GcOptions options;
        options.apply = apply_ ? Apply::yes : Apply::no;
        options.wait = now_ ? Wait::now : Wait::for_window;
        options.history = history_ ? GcOptions::History::yes : GcOptions::History::no;
        if (gc->count("--max-bytes") > 0) options.max_bytes = max_bytes_;
        options.form = form_of(json_);
        return command_gc(session_, options);
      };
    });
  }

  void add_probe() {
    auto* probe = app_.add_subcommand("probe", "How long a git ref write takes on a volume");
    probe->add_option("DIRECTORY", probe_.directory, "A directory of the volume (default: here)");
    probe->add_flag("--watch", watch_, "Go on until interrupted");
    probe->add_option("--samples", probe_.samples, "How many (default: 20)")->check(CLI::Range(1U, 100'000U));
    probe->add_option("--interval", probe_.interval_ms, "Milliseconds between two (default: 100)")
        ->check(CLI::Range(0U, 3'600'000U));
    probe->add_flag("--json", json_, "One JSON object on stdout");
    probe->callback([this] {
      chosen_ = [this] {
        probe_.watch = watch_ ? ProbeOptions::Watch::yes : ProbeOptions::Watch::no;
        probe_.form = form_of(json_);
        return command_probe(session_, probe_);
      };
    });
  }

  void add_doctor() {
    auto* doctor = app_.add_subcommand("doctor", "What pfnm is set to do on this machine");
    doctor->add_flag("--config", config_, "List every setting with its value and origin")->required();
    doctor->add_flag("--json", json_, "One JSON object on stdout");
    doctor->callback([this] { chosen_ = [this] { return command_doctor_config(session_, form_of(json_)); }; });
  }

  const Session& session_;
  CLI::App app_;
  std::function<ExitCode()> chosen_;
  InitOptions init_;
  LinkOptions link_;
  InstallOptions install_;
  std::string package_;
  std::vector<std::string> hook_;
  bool force_ = false;
  bool undo_ = false;
  bool json_ = false;
  bool all_ = false;
  bool anew_ = false;
  bool config_ = false;
  ProbeOptions probe_;
  std::uint64_t max_bytes_ = 0;
  bool apply_ = false;
  bool now_ = false;
  bool history_ = false;
  bool watch_ = false;
};

}  // namespace
}  // namespace pfnm

int main(int argc, char** argv) {
  using namespace pfnm;
  ::umask(022);
  try {
    const Session session{Fs(), survey_process(environ)};
    return CommandLine(session).run(argc, argv);
  } catch (const std::exception& error) {
    return static_cast<int>(report_error(Error::make(Errc::io, "go on", "", error.what())));
  }
}
