// The slow half of the hooks: there is something to do that the front cannot. Always ends well for git, says at most one
// line, keeps nobody waiting (SPEC 5.2).
#include <fcntl.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/fast_path.hpp"
#include "nmstore/build/trust.hpp"
#include "nmstore/layout/clone_tree.hpp"
#include "nmstore/platform/process.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/reference.hpp"

namespace pfnm {
namespace {

constexpr const char* k_way_out = "run pfnm link";

std::string one_line(const Error& error) {
  std::string text = error.message();
  text = text.substr(0, text.find('\n'));
  return text;
}

void say(const std::string& text) { std::ignore = write_rendered({"", "pfnm: " + text + "\n"}); }

// The marker's toolchain, where it is still who it was; else PATH's.
Result<Programs> hook_programs(const Session& session, const std::optional<Record>& record) {
  if (record) {
    const auto node = identify_program(record->node.path);
    const auto npm = identify_program(record->npm.path);
    if (node.has_value() && npm.has_value()) return Programs{*node, *npm};
  }
  return find_toolchain(session.process.variable("PATH"));
}

bool is_off(const Session& session) { return session.process.variable("PF_NM_MODE") == "off"; }

Layout hook_layout(const Session& session, const Settings& settings) {
  std::string mode = session.process.variable("PF_NM_MODE");
  if (mode.empty()) mode = settings.resolved.default_layout;
  return mode == "private" || mode == "clone" ? Layout::private_copy : Layout::links;
}

// Links or copies with an install that is there or may be built; under the worktree's lock.
Result<std::string> provision_now(const Session& session, Target& target, ScriptTrust trust) {
  Progress progress(-1);
  PFNM_TRY_ASSIGN(const FileLock lock, lock_worktree(session, target.store, target.project.root, progress));
  target.settings.trust = trust;
  PFNM_TRY_ASSIGN(const LeasedInstall leased, ensure_leased(session, target, progress));
  PFNM_TRY_ASSIGN(const TreeSurvey survey, survey_tree(target.project.root));
  if (survey.state == TreeState::unmarked || survey.state == TreeState::private_copy) return std::string();
  PFNM_TRY(ensure_ignored(session.fs, target.git, target.project));
  PFNM_TRY_ASSIGN(const ProvisionReport report,
                  provision({session.fs, target.store, target.project, target.resolution.record, leased.ensured.seal,
                             hook_layout(session, target.settings), Force::no, {}},
                            survey));
  if (report.action == Action::unchanged) return std::string();
  std::string text = render_provision("link", OutputForm::text, report, {}).out;
  text.pop_back();
  return text;
}

enum class MayBuild { no, yes };
struct BuildDecision {
  MayBuild may = MayBuild::yes;
  ScriptTrust trust = ScriptTrust::approved_only;
  std::string why_not;
};

Result<BuildDecision> decide_build(const Target& target) {
  switch (target.settings.hook_build) {
    case HookBuild::never:
      return BuildDecision{MayBuild::no, ScriptTrust::approved_only, "no install for this lock yet"};
    case HookBuild::always:
      return BuildDecision{MayBuild::yes, ScriptTrust::all, {}};
    case HookBuild::approved:
      break;
  }
  PFNM_TRY_ASSIGN(const auto unapproved, find_unapproved(target.store, required_items(target.resolution)));
  if (!unapproved) return BuildDecision{};
  return BuildDecision{MayBuild::no, ScriptTrust::approved_only, unapproved->shown + " was not approved yet"};
}

// The main checkout's project directory that corresponds to this one, if it is another.
std::string main_project(const Project& project) {
  const std::string& common = project.worktree.common_dir;
  if (!common.ends_with("/.git")) return {};
  const std::string main = common.substr(0, common.size() - 5);
  if (main == project.worktree.root) return {};
  return main + project.root.substr(project.worktree.root.size());
}

bool same_text(const std::string& a, const std::string& b) {
  const auto left = find_file(AT_FDCWD, a);
  const auto right = find_file(AT_FDCWD, b);
  return left.has_value() && right.has_value() && *left && *right && sha256_text(**left) == sha256_text(**right);
}

// True where node_modules is now a clone of the main checkout's.
bool clone_from_main(const Session& session, const Target& target) {
  const std::string from = main_project(target.project);
  if (from.empty() || !same_text(from + "/" + target.project.lock_name, target.project.lock_path())) return false;
  const auto theirs = survey_tree(from);
  const auto ours = survey_tree(target.project.root);
  const bool real = theirs.has_value() &&
                    (theirs->state == TreeState::unmarked || theirs->state == TreeState::private_copy);
  if (!real || !ours.has_value() || ours->state != TreeState::absent) return false;
  CloneRequest request{from, target.project.root, {"node_modules"}, target.resolution.record};
  for (const std::string& directory : workspace_directories(target.resolution.lock)) {
    const std::string container = directory + "/node_modules";
    const auto have = find_stat(AT_FDCWD, from + "/" + container);
    const auto in_the_way = find_stat(AT_FDCWD, target.project.root + "/" + container);
    if (have.has_value() && *have && in_the_way.has_value() && !*in_the_way) request.containers.push_back(container);
  }
  const auto lock = try_lock_worktree(session.fs, target.store, target.project.root);
  if (!lock.has_value() || !*lock) return false;
  return clone_modules(session.fs, request).has_value();
}

void fall_back(const Session& session, const Target& target, const std::string& why) {
  if (clone_from_main(session, target)) {
    say("node_modules is a clone of the main checkout's (" + why + "); pfnm link --force makes links");
    return;
  }
  say("node_modules is not provisioned (" + why + "): " + k_way_out);
}

// Builds and links in a process of its own; this one waits as long as pfnm.hookTimeout says.
void build_detached(const Session& session, Target& target, ScriptTrust trust) {
  const auto pipe = run_detached([&](int out) {
    const auto done = provision_now(session, target, trust);
    const std::string text = done.has_value() ? "+" + *done : "-" + one_line(done.error());
    std::ignore = ::write(out, text.data(), text.size());  // nobody may be waiting any more
  });
  if (!pipe.has_value()) return fall_back(session, target, one_line(pipe.error()));
  const auto answer = read_until_end(*pipe, target.settings.hook_timeout);
  if (!answer) {
    say("the install for this lock is still being built; node_modules appears when it is done (pfnm status)");
  } else if (answer->starts_with("+")) {
    if (answer->size() > 1) say(answer->substr(1));
  } else {
    fall_back(session, target, answer->empty() ? "the build ended early" : answer->substr(1));
  }
}

bool is_sealed(const Target& target) {
  const auto seal = find_seal(target.store.paths, target.resolution.install);
  return seal.has_value() && *seal && (*seal)->fingerprint == target.resolution.report.fingerprint;
}

void run_hook(const Session& session) {
  const auto project = find_project(session.process.directory);
  if (!project.has_value() || is_off(session)) return;
  const auto survey = survey_tree(project->root);
  if (!survey.has_value()) return say(one_line(survey.error()) + ": " + k_way_out);
  // The user's own tree, or a copy that is the user's by now: never touched by a hook (SPEC 3.2, 3.8).
  if (survey->state == TreeState::unmarked || survey->state == TreeState::private_copy) return;
  const auto programs = hook_programs(session, survey->record);
  if (!programs.has_value()) return say(one_line(programs.error()) + ": node_modules is not provisioned");
  auto target = find_target_with(session, session.process.directory, *programs);
  if (!target.has_value()) return say(one_line(target.error()) + "; then " + k_way_out);
  if (is_sealed(*target)) {
    const auto done = provision_now(session, *target, ScriptTrust::approved_only);
    if (!done.has_value()) return fall_back(session, *target, one_line(done.error()));
    if (!done->empty()) say(*done);
    return;
  }
  const auto decision = decide_build(*target);
  if (!decision.has_value()) return fall_back(session, *target, one_line(decision.error()));
  if (decision->may == MayBuild::no) return fall_back(session, *target, decision->why_not);
  build_detached(session, *target, decision->trust);
}

}  // namespace

ExitCode command_hook(const Session& session, const std::vector<std::string>& arguments) {
  std::ignore = arguments;  // git's own: what was checked out is seen in the worktree
  run_hook(session);
  return ExitCode::done;
}

}  // namespace pfnm
