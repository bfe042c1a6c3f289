#include "cli/commands.hpp"
#include "cli/root_scripts.hpp"
#include "nmstore/build/trust.hpp"
#include "nmstore/git/git_cli.hpp"

namespace pfnm {
namespace {

// --layout, then PF_NM_MODE, then pfnm.layout.
Result<std::string> wanted_layout(const Session& session, const LinkOptions& options, const Settings& settings) {
  std::string layout = options.layout;
  if (layout.empty()) layout = session.process.variable("PF_NM_MODE");
  if (layout.empty()) layout = settings.resolved.default_layout;
  if (layout.empty()) layout = "links";
  if (layout == "clone") layout = "private";
  if (layout == "links" || layout == "private" || layout == "off") return layout;
  if (layout == "view")
    return fail(Error::make(Errc::unsupported, "make", "a view", "this version makes links and private copies only"));
  return fail(Error::make(Errc::usage, "make", "the layout " + layout, "it may be links or private"));
}

// Refused before anything is built: what stands is not ours.
Status refuse_early(const TreeSurvey& survey, const Project& project, Force force) {
  if (survey.state != TreeState::unmarked || force == Force::yes) return {};
  return fail(Error::make(Errc::refused, "link", project.root, "node_modules is there and pfnm did not make it",
                          "remove it, or let pfnm link --force move it to the trash"));
}

struct Outcome {
  ProvisionReport report;
  std::vector<std::pair<std::string, std::string>> not_run;
  Status scripts;
};

bool is_new(const ProvisionReport& report) {
  return report.action == Action::built || report.action == Action::linked || report.action == Action::relinked ||
         report.copied.has_value();
}

Result<Outcome> lay_out(const Session& session, Target& target, const TreeSurvey& survey, Layout layout, Force force,
                        Progress& progress) {
  PFNM_TRY_ASSIGN(const LeasedInstall leased, ensure_leased(session, target, progress));
  PFNM_TRY(approve(session.fs, target.store, approvable_items(target.resolution)));
  PFNM_TRY(ensure_ignored(session.fs, target.git, target.project));
  if (layout == Layout::private_copy) progress.note("copying " + human_bytes(leased.ensured.seal.bytes));
  const auto on_copy = [&](const CopyReport& copied) {
    progress.count(copied.entries, leased.ensured.seal.entries, "files");
  };
  PFNM_TRY_ASSIGN(ProvisionReport report,
                  provision({session.fs, target.store, target.project, target.resolution.record, leased.ensured.seal,
                             layout, force, on_copy},
                            survey));
  if (report.action == Action::linked && leased.ensured.origin == InstallOrigin::built) report.action = Action::built;
  Outcome outcome{std::move(report), leased.ensured.seal.not_run, {}};
  if (target.settings.root_scripts == RootScripts::run && is_new(outcome.report)) {
    outcome.scripts = run_root_scripts(session, target, outcome.report.layout);
    if (outcome.scripts.has_value()) outcome.not_run.clear();
  }
  return outcome;
}

Result<std::optional<Outcome>> link_worktree(const Session& session, const LinkOptions& options, Progress& progress) {
  PFNM_TRY_ASSIGN(const Project project, find_project(session.absolute(options.directory)));
  PFNM_TRY_ASSIGN(const TreeSurvey early, survey_tree(project.root));
  PFNM_TRY(refuse_early(early, project, options.force));
  PFNM_TRY_ASSIGN(Target target, find_target(session, options.directory));
  PFNM_TRY_ASSIGN(const std::string layout, wanted_layout(session, options, target.settings));
  if (layout == "off") return std::optional<Outcome>{};
  PFNM_TRY_ASSIGN(const FileLock lock, lock_worktree(session, target.store, target.project.root, progress));
  PFNM_TRY_ASSIGN(const TreeSurvey survey, survey_tree(target.project.root));
  PFNM_TRY(refuse_early(survey, target.project, options.force));
  PFNM_TRY_ASSIGN(Outcome outcome,
                  lay_out(session, target, survey, layout == "private" ? Layout::private_copy : Layout::links,
                          options.force, progress));
  return std::optional<Outcome>{std::move(outcome)};
}

ExitCode run_link(const Session& session, const LinkOptions& options, std::string_view verb) {
  Result<std::optional<Outcome>> outcome = std::optional<Outcome>{};
  {
    Progress progress(2);
    outcome = link_worktree(session, options, progress);
  }
  if (!outcome.has_value()) return report_error(outcome.error());
  if (!*outcome) return write_result({"", "pfnm: PF_NM_MODE=off: nothing was done\n"});
  const ExitCode code = write_result(render_provision(verb, options.form, (*outcome)->report, (*outcome)->not_run));
  if (!(*outcome)->scripts.has_value()) return report_error((*outcome)->scripts.error());
  return code;
}

}  // namespace

ExitCode command_link(const Session& session, const LinkOptions& options) { return run_link(session, options, "link"); }

ExitCode command_private(const Session& session, const LinkOptions& options) {
  LinkOptions with_layout = options;
  with_layout.layout = "private";
  return run_link(session, with_layout, "private");
}

}  // namespace pfnm
