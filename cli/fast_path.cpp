#include "cli/fast_path.hpp"

#include <fcntl.h>

#include "nmstore/layout/husky.hpp"
#include "nmstore/platform/os.hpp"
#include "nmstore/platform/process.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/reference.hpp"

namespace pfnm {
namespace {

struct FoundToolchain {
  ProgramIdentity node;
  ProgramIdentity npm;
};

std::optional<FoundToolchain> toolchain_on_path(const ProcessContext& process) {
  const std::string path = process.variable("PATH");
  const auto node = find_program("node", path);
  const auto npm = find_program("npm", path);
  if (!node || !npm) return std::nullopt;
  auto node_identity = identify_program(*node);
  auto npm_identity = identify_program(*npm);
  if (!node_identity.has_value() || !npm_identity.has_value()) return std::nullopt;
  return FoundToolchain{std::move(*node_identity), std::move(*npm_identity)};
}

// The marker's programs, if they still are who they were.
bool still_is(const ProgramIdentity& known) {
  const auto now = identify_program(known.path);
  return now.has_value() && *now == known;
}

std::optional<FoundToolchain> toolchain_for(const ProcessContext& process, Caller caller,
                                        const std::optional<Record>& record) {
  if (caller == Caller::hook && record) {
    if (!still_is(record->node) || !still_is(record->npm)) return std::nullopt;
    return FoundToolchain{record->node, record->npm};
  }
  return toolchain_on_path(process);
}

// The record's own answer, where nothing that it was computed from has changed.
std::optional<Record> answer_from_record(const Project& project, const StorePaths& paths, const FoundToolchain& toolchain,
                                         const TreeSurvey& survey) {
  if (survey.state != TreeState::linked || !survey.record) return std::nullopt;
  const Record& record = *survey.record;
  if (record.store != paths.root() || record.node != toolchain.node || record.npm != toolchain.npm)
    return std::nullopt;
  for (const auto* inputs : {&record.inputs, &record.configs}) {
    const auto state = compare_inputs(project.root, *inputs);
    if (!state.has_value() || *state != InputState::same) return std::nullopt;
  }
  return record;
}

// `lock` has been read already; it is by far the largest.
std::optional<std::vector<Input>> survey_inputs(const std::string& project, const std::vector<std::string>& paths,
                                                const Input& lock) {
  std::vector<Input> inputs;
  for (const std::string& path : paths) {
    if (path == lock.path) {
      inputs.push_back(lock);
      continue;
    }
    auto input = survey_input(project, path);
    if (!input.has_value()) return std::nullopt;
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

template <typename T>
std::optional<T> read_memo(const std::string& path, Result<T> (*parse)(std::string_view, std::string_view)) {
  const auto text = find_file(AT_FDCWD, path);
  if (!text.has_value() || !*text) return std::nullopt;
  auto memo = parse(**text, path);
  if (!memo.has_value()) return std::nullopt;
  return std::move(*memo);
}

// The answer that pfnm-main left for a worktree with just these bytes in its inputs.
std::optional<Record> answer_from_memos(const ProcessContext& process, const Project& project,
                                        const StorePaths& paths, const FoundToolchain& toolchain) {
  // Configuration of this worktree alone: pfnm-main asks git.
  const auto own_config = find_stat(AT_FDCWD, project.worktree.git_dir + "/config.worktree");
  if (!own_config.has_value() || *own_config) return std::nullopt;
  const auto lock = survey_input(project.root, project.lock_name);
  if (!lock.has_value()) return std::nullopt;
  const std::string& top = project.worktree.root;
  const MemoScope scope{project.worktree.common_dir, project.root == top ? "" : project.root.substr(top.size() + 1),
                        toolchain.node, toolchain.npm, process.environment};
  const Digest name = inputs_memo_name(scope, lock->digest);
  const auto memo = read_memo<InputsMemo>(paths.memo("inputs", name.to_hex()), parse_inputs_memo);
  if (!memo) return std::nullopt;
  auto inputs = survey_inputs(project.root, memo->inputs, *lock);
  auto configs = survey_inputs(project.root, memo->configs, *lock);
  if (!inputs || !configs) return std::nullopt;
  const Digest key_name = key_memo_name(name, *inputs, *configs);
  const auto key = read_memo<KeyMemo>(paths.memo("key", key_name.to_hex()), parse_key_memo);
  if (!key || !(key->default_layout.empty() || key->default_layout == "links")) return std::nullopt;
  Record answer;
  answer.install = key->install;
  answer.fingerprint = key->fingerprint;
  answer.store = paths.root();
  answer.node = toolchain.node;
  answer.npm = toolchain.npm;
  answer.settings = key->settings;
  answer.inputs = std::move(*inputs);
  answer.configs = std::move(*configs);
  return answer;
}

bool wants_links(const ProcessContext& process) {
  const std::string mode = process.variable("PF_NM_MODE");
  return mode.empty() || mode == "links";
}

// States that need words, a force, or git's opinion of what it ignores are pfnm-main's.
bool can_lay_out(const TreeSurvey& survey, const Project& project) {
  if (survey.state == TreeState::linked || survey.state == TreeState::unfinished) return true;
  return survey.state == TreeState::absent && survey_ignored(project.worktree) == NodeModulesIgnored::yes;
}

std::optional<Seal> usable_seal(const StorePaths& paths, const Record& answer) {
  auto seal = find_seal(paths, answer.install);
  if (!seal.has_value() || !*seal || (*seal)->fingerprint != answer.fingerprint) return std::nullopt;
  if (needs_verification(**seal, os::boot_id())) return std::nullopt;
  return std::move(**seal);
}

}  // namespace

Result<std::optional<FastOutcome>> try_fast_link(const Fs& fs, const ProcessContext& process,
                                                 const std::string& directory, Caller caller) {
  const std::optional<FastOutcome> not_here;
  if (!wants_links(process)) return not_here;
  const auto project = find_project(directory);
  const auto root = process.store_root();
  if (!project.has_value() || !root.has_value()) return not_here;
  const auto store = open_store(*root);
  if (!store.has_value()) return not_here;
  const auto lock = try_lock_worktree(fs, *store, project->root);
  if (!lock.has_value() || !*lock) return not_here;
  const auto survey = survey_tree(project->root);
  if (!survey.has_value() || !can_lay_out(*survey, *project)) return not_here;
  const auto toolchain = toolchain_for(process, caller, survey->record);
  if (!toolchain) return not_here;
  auto answer = answer_from_record(*project, store->paths, *toolchain, *survey);
  if (!answer) answer = answer_from_memos(process, *project, store->paths, *toolchain);
  if (!answer) return not_here;
  const auto lease = take_lease(fs, *store, answer->install);
  if (!lease.has_value()) return not_here;
  const auto seal = usable_seal(store->paths, *answer);
  if (!seal) return not_here;
  PFNM_TRY_ASSIGN(ProvisionReport report,
                  provision({fs, *store, *project, *answer, *seal, Layout::links, Force::no, {}}, *survey));
  return std::optional<FastOutcome>{FastOutcome{std::move(report), seal->not_run}};
}

NothingToDo survey_nothing_to_do(const ProcessContext& process, const std::string& directory) {
  if (!wants_links(process)) return NothingToDo::no;
  const auto text = find_file(AT_FDCWD, directory + "/node_modules/" + k_record);
  if (!text.has_value() || !*text) return NothingToDo::no;
  const auto record = parse_record(**text, k_record);
  if (!record.has_value() || record->layout != Layout::links) return NothingToDo::no;
  const auto root = process.store_root();
  if (!root.has_value() || *root != record->store) return NothingToDo::no;
  if (!still_is(record->node) || !still_is(record->npm)) return NothingToDo::no;
  for (const auto* inputs : {&record->inputs, &record->configs}) {
    const auto state = compare_inputs(directory, *inputs);
    if (!state.has_value() || *state != InputState::same) return NothingToDo::no;
  }
  if (survey_unmoved(directory, *record) == Intact::no) return NothingToDo::no;
  if (survey_husky(directory) == HuskyRunner::missing) return NothingToDo::no;
  // A copy of a linked worktree looks the same and was never announced.
  const auto announced = find_reference(Store{StorePaths(record->store)}, directory);
  if (!announced.has_value() || !*announced || (*announced)->install != record->install) return NothingToDo::no;
  // A store that was wiped leaves the links dangling: the seal must be there.
  const auto seal = find_stat(AT_FDCWD, StorePaths(record->store).seal(record->install));
  const auto plan = find_stat(AT_FDCWD, plan_file(StorePaths(record->store).install(record->install)));
  const bool there = seal.has_value() && *seal && plan.has_value() && *plan;
  return there ? NothingToDo::yes : NothingToDo::no;
}

}  // namespace pfnm
