#include <fcntl.h>

#include "cli/commands.hpp"
#include "cli/json_text.hpp"
#include "nmstore/git/hooks.hpp"
#include "nmstore/platform/os.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

struct InitReport {
  std::string repository;
  HookFacts facts;
  std::vector<std::string> done;
  std::vector<std::string> changed_since;
};

std::string place_in_words(const HookFacts& facts) {
  switch (facts.place) {
    case HookPlace::configuration:
      return "git's configuration hooks";
    case HookPlace::husky9:
    case HookPlace::husky8:
      return "husky (" + facts.directory + "; commit the new lines)";
    case HookPlace::common_directory:
      return facts.directory;
    case HookPlace::foreign:
      break;
  }
  return facts.hooks_path;
}

// The front, which the hooks call: beside the libexec that this program is in.
Result<std::string> front_path() {
  PFNM_TRY_ASSIGN(const std::string self, os::self_path());
  const auto libexec = self.rfind("/libexec/pfnm/");
  if (libexec == std::string::npos) return std::string("pfnm");
  return self.substr(0, libexec) + "/bin/pfnm";
}

// Makes git ignore node_modules, if it does not, in a way that --undo takes back.
Status exclude(const Session& session, const GitCli& git, const Project& project) {
  const std::string path = project.worktree.common_dir + "/info/exclude";
  const std::string info = project.worktree.common_dir + "/info";
  PFNM_TRY_ASSIGN(const auto before, find_file(AT_FDCWD, path));
  PFNM_TRY_ASSIGN(const auto info_before, find_stat(AT_FDCWD, info));
  PFNM_TRY(ensure_ignored(session.fs, git, project));
  PFNM_TRY_ASSIGN(const auto after, find_file(AT_FDCWD, path));
  if (!after || before == after) return {};
  if (!info_before) PFNM_TRY(note_directory(session.fs, project.worktree, info));
  return note_change(session.fs, project.worktree, path, before, *after);
}

Result<InitReport> init(const Session& session, const InitOptions& options) {
  InitReport report;
  PFNM_TRY_ASSIGN(const Worktree worktree, find_worktree(session.absolute(options.directory)));
  PFNM_TRY_ASSIGN(const GitCli git, session.git());
  report.repository = worktree.common_dir;
  if (options.undo == InitOptions::Undo::yes) {
    PFNM_TRY_ASSIGN(UndoneHooks undone, undo_hooks(session.fs, git, worktree));
    report.done = std::move(undone.restored);
    report.changed_since = std::move(undone.changed_since);
    return report;
  }
  PFNM_TRY_ASSIGN(report.facts, survey_hooks(git, worktree));
  PFNM_TRY_ASSIGN(const std::string program, front_path());
  const auto plan = plan_hooks(report.facts, program);
  PFNM_TRY(apply_hooks(session.fs, git, worktree, report.facts, plan));
  for (const PlannedHook& hook : plan) report.done.push_back(hook.path);
  const auto project = find_project(worktree.root);
  if (project.has_value()) PFNM_TRY(exclude(session, git, *project));
  return report;
}

Rendered in_words(const InitReport& report, const InitOptions& options) {
  std::string text;
  if (options.undo == InitOptions::Undo::yes) {
    for (const std::string& path : report.done) text += "put back " + path + "\n";
    if (report.done.empty() && report.changed_since.empty()) text = "nothing to undo in " + report.repository + "\n";
    std::string err;
    for (const std::string& path : report.changed_since)
      err += "pfnm: " + path + " was changed after init and is left as it is: take the pfnm line out by hand\n";
    return {text, err};
  }
  if (report.facts.place == HookPlace::foreign) {
    return {"", "pfnm: core.hooksPath is " + report.facts.hooks_path +
                    ", which is not pfnm's to write to; add to its post-checkout, post-merge and post-rewrite:\n  " +
                    hook_line("post-checkout") + "\n"};
  }
  text = report.done.empty() ? "already there: " : "installed in ";
  return {text + place_in_words(report.facts) + "\n", ""};
}

}  // namespace

ExitCode command_init(const Session& session, const InitOptions& options) {
  const auto report = init(session, options);
  if (!report.has_value()) return report_error(report.error());
  const bool foreign = options.undo == InitOptions::Undo::no && report->facts.place == HookPlace::foreign;
  const ExitCode code = foreign ? ExitCode::refused : ExitCode::done;
  if (options.form == OutputForm::text) {
    const ExitCode written = write_result(in_words(*report, options));
    return written == ExitCode::done ? code : written;
  }
  JsonObject object;
  object.text("schema", "pfnm.init/1")
      .text("repository", report->repository)
      .texts(options.undo == InitOptions::Undo::yes ? "restored" : "installed", report->done)
      .texts("changed_since", report->changed_since);
  const ExitCode written = write_result({object.render() + "\n", in_words(*report, options).err});
  return written == ExitCode::done ? code : written;
}

}  // namespace pfnm
