#include "nmstore/layout/tree_survey.hpp"

#include <fcntl.h>

#include <algorithm>

#include "nmstore/layout/container.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

Result<std::optional<Record>> find_record(int modules, const char* name) {
  auto text = find_file(modules, name);
  if (!text.has_value()) return fail(text.error());
  if (!*text) return std::optional<Record>{};
  auto record = parse_record(**text, name);
  // A record that cannot be read is no record: the tree is marked and unfinished, and will be done again.
  if (!record.has_value()) return std::optional<Record>{};
  return std::optional<Record>{std::move(*record)};
}

}  // namespace

Result<TreeSurvey> survey_tree(const std::string& project) {
  const std::string path = project + "/node_modules";
  PFNM_TRY_ASSIGN(const auto st, find_stat(AT_FDCWD, path));
  TreeSurvey survey;
  if (!st) return survey;
  survey.state = TreeState::unmarked;
  if (!st->is_dir()) return survey;
  PFNM_TRY_ASSIGN(const Fd modules, open_dir_at(AT_FDCWD, path));
  PFNM_TRY_ASSIGN(const auto marker, find_stat(modules.get(), k_marker));
  PFNM_TRY_ASSIGN(const auto record_file, find_stat(modules.get(), k_record));
  if (!marker && !record_file) {
    PFNM_TRY_ASSIGN(const auto entries, list_dir(modules.get(), path));
    if (entries.empty()) survey.state = TreeState::absent;
    return survey;
  }
  PFNM_TRY_ASSIGN(survey.record, find_record(modules.get(), k_record));
  if (survey.record && survey.record->layout == Layout::private_copy) {
    survey.state = TreeState::private_copy;
    return survey;
  }
  survey.state = survey.record && marker ? TreeState::linked : TreeState::unfinished;
  if (!survey.record) {
    PFNM_TRY_ASSIGN(survey.record, find_record(modules.get(), k_relink_intent));
  }
  return survey;
}

Intact survey_unmoved(const std::string& project, const Record& record) {
  for (const StandingDir& dir : record.dirs) {
    const auto st = stat_at(AT_FDCWD, project + "/" + dir.path);
    if (!st.has_value() || !st->is_dir() || st->mtime_ns != dir.mtime_ns) return Intact::no;
  }
  const auto lock = stat_at(AT_FDCWD, project + "/node_modules/.package-lock.json");
  if (!lock.has_value() || lock->mtime_ns != k_layout_lock_mtime_ns) return Intact::no;
  return record.dirs.empty() ? Intact::no : Intact::yes;
}

Result<Intact> survey_intact(const std::string& project, const Record& record, const LayoutPlan& plan) {
  const auto hop = read_link_at(AT_FDCWD, project + "/node_modules/" + k_hop);
  if (!hop.has_value() || *hop != StorePaths(record.store).install(record.install)) return Intact::no;
  const auto marker = read_link_at(AT_FDCWD, project + "/node_modules/" + k_marker);
  if (!marker.has_value() || *marker != k_hop) return Intact::no;
  const auto seen = read_link_at(AT_FDCWD, project + "/node_modules/" + k_hop_seen);
  if (!seen.has_value() || *seen != k_hop_dir) return Intact::no;
  if (survey_unmoved(project, record) == Intact::yes) return Intact::yes;
  const auto lock = find_stat(AT_FDCWD, project + "/node_modules/.package-lock.json");
  if (!lock.has_value() || !*lock || (*lock)->mtime_ns != k_layout_lock_mtime_ns) return Intact::no;
  for (const PlanDir& dir : plan.dirs) {
    if (dir.kind == PlanDirKind::writable || !container_wanted(project, dir.path)) continue;
    PFNM_TRY_ASSIGN(const auto path_stat, find_stat(AT_FDCWD, project + "/" + dir.path));
    if (!path_stat || !path_stat->is_dir()) return Intact::no;
    PFNM_TRY_ASSIGN(const auto existing, list_existing(AT_FDCWD, project + "/" + dir.path));
    const ContainerSteps steps = plan_container({project, plan, dir, record.own, record.store, {}, record.settings.writable}, existing);
    if (!steps.nothing_to_do()) return Intact::no;
  }
  return Intact::yes;
}

std::string container_of(const std::string& plan_dir_path) {
  constexpr std::string_view k_name = "node_modules";
  std::size_t at = 0;
  while ((at = plan_dir_path.find(k_name, at)) != std::string::npos) {
    const std::size_t end = at + k_name.size();
    const bool whole = (at == 0 || plan_dir_path[at - 1] == '/') &&
                       (end == plan_dir_path.size() || plan_dir_path[end] == '/');
    if (whole) return plan_dir_path.substr(0, end);
    at = end;
  }
  return plan_dir_path;
}

bool container_wanted(const std::string& project, const std::string& plan_dir_path) {
  const std::string container = container_of(plan_dir_path);
  if (container == "node_modules") return true;
  const auto owner = find_stat(AT_FDCWD, project + "/" + container.substr(0, container.find_last_of('/')));
  return owner.has_value() && owner->has_value() && (*owner)->is_dir();
}

bool is_hop_target(std::string_view target) {
  while (target.starts_with("../")) target.remove_prefix(3);
  if (target.starts_with("node_modules/")) target.remove_prefix(13);
  return target.starts_with(".pf/shared/");
}

}  // namespace pfnm
