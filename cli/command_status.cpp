#include <fcntl.h>

#include "cli/commands.hpp"
#include "cli/fast_path.hpp"
#include "cli/json_text.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/reference.hpp"

namespace pfnm {
namespace {

struct StatusFacts {
  std::string project;
  TreeState state = TreeState::absent;
  std::optional<Record> record;
  std::optional<Seal> seal;
  std::string install;
  Intact intact = Intact::no;
  SameAnswer current = SameAnswer::no;  // the record speaks of the lock and toolchain of now
  std::vector<DamagedPath> damaged;
  std::uint64_t shared_bytes = 0;
  std::uint64_t own_bytes = 0;  // allocated below node_modules, links included, what they lead to not
  std::string store_problem;
};

std::uint64_t allocated_bytes(int dir, const std::string& name) {
  const auto st = find_stat(dir, name);
  if (!st.has_value() || !*st) return 0;
  std::uint64_t bytes = (*st)->blocks * 512;
  if (!(*st)->is_dir()) return bytes;
  const auto fd = open_dir_at(dir, name);
  if (!fd.has_value()) return bytes;
  const auto entries = list_dir(fd->get(), name);
  if (!entries.has_value()) return bytes;
  for (const DirEntry& entry : *entries) bytes += allocated_bytes(fd->get(), entry.name);
  return bytes;
}

SameAnswer survey_current(const std::string& project, const Record& record) {
  for (const auto* inputs : {&record.inputs, &record.configs}) {
    const auto state = compare_inputs(project, *inputs);
    if (!state.has_value() || *state != InputState::same) return SameAnswer::no;
  }
  return SameAnswer::yes;
}

Status survey_install(StatusFacts& facts) {
  const Record& record = *facts.record;
  const auto store = open_store(record.store);
  if (!store.has_value()) {
    facts.store_problem = store.error().message();
    return {};
  }
  facts.install = store->paths.install(record.install);
  PFNM_TRY_ASSIGN(facts.seal, find_seal(store->paths, record.install));
  if (!facts.seal || record.layout == Layout::private_copy) return {};
  facts.shared_bytes = facts.seal->bytes;
  PFNM_TRY_ASSIGN(const OpenInstall open, open_install(*store, *facts.seal));
  PFNM_TRY_ASSIGN(facts.intact, survey_intact(facts.project, record, open.plan));
  PFNM_TRY_ASSIGN(facts.damaged, check_install(facts.install, open.manifest, 0));
  return {};
}

Result<StatusFacts> survey_status(const Session& session, const std::string& directory) {
  PFNM_TRY_ASSIGN(const Project project, find_project(session.absolute(directory)));
  StatusFacts facts;
  facts.project = project.root;
  PFNM_TRY_ASSIGN(TreeSurvey survey, survey_tree(project.root));
  facts.state = survey.state;
  facts.record = std::move(survey.record);
  facts.own_bytes = allocated_bytes(AT_FDCWD, project.root + "/node_modules");
  if (!facts.record) return facts;
  facts.current = survey_current(project.root, *facts.record);
  PFNM_TRY(survey_install(facts));
  if (facts.record->layout == Layout::private_copy) facts.intact = Intact::yes;
  if (facts.state == TreeState::unfinished) facts.intact = Intact::no;
  return facts;
}

std::string_view layout_of(const StatusFacts& facts) {
  switch (facts.state) {
    case TreeState::absent:
      return "none";
    case TreeState::unmarked:
      return "unmanaged";
    case TreeState::unfinished:
    case TreeState::linked:
      return "links";
    case TreeState::private_copy:
      break;
  }
  return "private";
}

// What `pfnm link` would do.
std::string_view next_action(const StatusFacts& facts) {
  switch (facts.state) {
    case TreeState::absent:
      return "linked";
    case TreeState::unmarked:
      return "refused";
    case TreeState::private_copy:
      return "private";
    case TreeState::unfinished:
    case TreeState::linked:
      break;
  }
  const bool stands = facts.intact == Intact::yes && facts.current == SameAnswer::yes && facts.seal.has_value();
  return stands ? "unchanged" : "relinked";
}

std::string as_json(const StatusFacts& facts) {
  JsonObject object;
  object.text("schema", "pfnm.status/1")
      .text("worktree", facts.project)
      .text("install", facts.install)
      .text("key", facts.record ? facts.record->install.text : "")
      .text("layout", layout_of(facts))
      .text("action", next_action(facts))
      .boolean("intact", facts.intact == Intact::yes)
      .boolean("sealed", facts.seal.has_value())
      .boolean("current", facts.current == SameAnswer::yes)
      .number("shared_bytes", facts.shared_bytes)
      .number("own_bytes", facts.own_bytes);
  std::vector<std::string> damaged;
  for (const DamagedPath& path : facts.damaged)
    damaged.push_back(JsonObject().text("path", path.path).text("damage", damage_word(path.damage)).render());
  return object.raw("tampered", json_array(damaged)).render() + "\n";
}

std::string in_words(const StatusFacts& facts) {
  std::string text = facts.project + "\n";
  switch (facts.state) {
    case TreeState::absent:
      return text + "  no node_modules: pfnm link makes it\n";
    case TreeState::unmarked:
      return text + "  node_modules was not made by pfnm (" + human_bytes(facts.own_bytes) + ")\n";
    case TreeState::unfinished:
      text += "  links, not finished: pfnm link completes it\n";
      break;
    case TreeState::linked:
      text += std::string("  links, ") + (facts.intact == Intact::yes ? "intact" : "not intact any more") + "\n";
      break;
    case TreeState::private_copy:
      text += "  a private copy\n";
      break;
  }
  if (facts.record) {
    text += "  install " + facts.record->install.text + (facts.seal ? "" : " (not in the store)") + "\n";
    if (facts.current == SameAnswer::no) text += "  the lock, a manifest or the configuration has changed since\n";
  }
  if (!facts.store_problem.empty()) text += "  " + facts.store_problem + "\n";
  for (const DamagedPath& path : facts.damaged)
    text += "  tampered with: " + std::string(damage_word(path.damage)) + " " + path.path + "\n";
  return text + "  shared " + human_bytes(facts.shared_bytes) + ", own " + human_bytes(facts.own_bytes) +
         "; pfnm link would answer: " + std::string(next_action(facts)) + "\n";
}

// `path` relative to a directory: "lodash", "@s/x", "@s/x/lib/y.js"
bool is_package_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.front() != '/' && name.find("..") == std::string_view::npos;
}

Result<std::string> find_package(const Session& session, const PathOptions& options) {
  const std::string start = session.absolute(options.directory);
  if (!is_package_name(options.package))
    return fail(Error::make(Errc::usage, "find", options.package, "that is no package name"));
  PFNM_TRY_ASSIGN(const Worktree worktree, find_worktree(start));
  PFNM_TRY_ASSIGN(std::string at, real_path(start));
  while (true) {
    const auto found = real_path(at + "/node_modules/" + options.package);
    if (found.has_value()) return *found;
    if (at == worktree.root || at.size() <= 1) break;
    at = at.substr(0, at.find_last_of('/'));
  }
  return fail(Error::make(Errc::bad_input, "find", options.package, "no node_modules from here up has it",
                          "pfnm status says what this worktree uses"));
}

}  // namespace

ExitCode command_status(const Session& session, const StatusOptions& options) {
  const auto facts = survey_status(session, options.directory);
  if (!facts.has_value()) return report_error(facts.error());
  return write_result({options.form == OutputForm::json ? as_json(*facts) : in_words(*facts), ""});
}

ExitCode command_path(const Session& session, const PathOptions& options) {
  const auto path = find_package(session, options);
  if (!path.has_value()) return report_error(path.error());
  if (options.form == OutputForm::text) return write_result({*path + "\n", ""});
  JsonObject object;
  object.text("schema", "pfnm.path/1").text("package", options.package).text("path", *path);
  return write_result({object.render() + "\n", ""});
}

}  // namespace pfnm
