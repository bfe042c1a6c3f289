#include "nmstore/layout/container.hpp"

#include <fcntl.h>

#include <algorithm>

#include "nmstore/layout/links.hpp"
#include "nmstore/layout/tree_survey.hpp"

namespace pfnm {
namespace {

std::string child_path(const PlanDir& dir, std::string_view name) { return dir.path + "/" + std::string(name); }

const PlanItem* find_item(const PlanDir& dir, std::string_view name) {
  const auto at = std::lower_bound(dir.items.begin(), dir.items.end(), name,
                                   [](const PlanItem& item, std::string_view wanted) { return item.name < wanted; });
  return at != dir.items.end() && at->name == name ? &*at : nullptr;
}

bool is_planned_dir(const LayoutPlan& plan, const std::string& path) {
  return std::any_of(plan.dirs.begin(), plan.dirs.end(), [&](const PlanDir& dir) { return dir.path == path; });
}

bool owns(const std::vector<OwnEntry>& own, OwnKind kind, const std::string& path, const std::string* identity) {
  return std::any_of(own.begin(), own.end(), [&](const OwnEntry& entry) {
    return entry.kind == kind && entry.path == path && (identity == nullptr || entry.identity == *identity);
  });
}

// In node_modules itself npm and the tools keep their own dot entries, and whatever pfnm.writable names; they are nobody's
// business here.
bool is_tool_entry(const ContainerContext& context, std::string_view name) {
  if (!context.dir.path.ends_with("node_modules")) return false;
  if (name.starts_with('.') && name != ".bin") return true;
  return std::any_of(context.writable.begin(), context.writable.end(), [&](std::string_view path) {
    return path.substr(0, path.find('/')) == name;
  });
}

bool is_right_copy(const ContainerContext& context, const PlanItem& item, const ExistingEntry& entry) {
  const std::string path = child_path(context.dir, item.name);
  if (entry.type == FileType::symlink) return false;
  // Caches that the install happens to hold something in: the worktree's own stay, whatever they hold (SPEC 3.5).
  if (entry.type == FileType::directory &&
      std::find(std::begin(k_writable_dirs), std::end(k_writable_dirs), item.name) != std::end(k_writable_dirs))
    return true;
  if (const auto looked_at = context.copies.find(path); looked_at != context.copies.end())
    return looked_at->second == item.identity;
  return owns(context.own, OwnKind::copy, path, &item.identity);
}

enum class Standing { right, ours, foreign };

Standing judge_entry(const ContainerContext& context, const PlanItem& item, const ExistingEntry& entry) {
  const bool our_link = is_our_link(context, entry);
  const std::string path = child_path(context.dir, item.name);
  switch (item.op) {
    case PlanOp::hop_link:
    case PlanOp::workspace_link:
      if (entry.type == FileType::symlink && entry.link == item.target) return Standing::right;
      break;
    case PlanOp::copy:
      if (is_right_copy(context, item, entry)) return Standing::right;
      break;
    case PlanOp::workspace_bin: {
      const BinForm form = survey_bin(context.project, item);
      if (form.kind == BinForm::Kind::link && entry.type == FileType::symlink && entry.link == form.content)
        return Standing::right;
      if (form.kind == BinForm::Kind::wrapper && entry.type == FileType::regular) {
        const auto text = read_file(AT_FDCWD, context.project + "/" + path);
        if (text.has_value() && *text == form.content) return Standing::right;
      }
      break;
    }
  }
  if (our_link || owns(context.own, OwnKind::workspace_bin, path, nullptr)) return Standing::ours;
  return Standing::foreign;
}

void judge_planned(const ContainerContext& context, const PlanItem& item, const ExistingEntry& entry,
                   ContainerSteps& steps) {
  switch (judge_entry(context, item, entry)) {
    case Standing::right:
      return;
    case Standing::ours:
      steps.remove.push_back(entry.name);
      break;
    case Standing::foreign:
      steps.aside.push_back(entry.name);
      break;
  }
  steps.create.push_back(&item);
}

void judge_unplanned(const ContainerContext& context, const ExistingEntry& entry, ContainerSteps& steps) {
  const std::string path = child_path(context.dir, entry.name);
  if (is_planned_dir(context.plan, path)) {
    if (entry.type != FileType::directory) steps.aside.push_back(entry.name);
    return;
  }
  if (is_tool_entry(context, entry.name)) return;
  if (is_our_link(context, entry) || owns(context.own, OwnKind::workspace_bin, path, nullptr)) {
    steps.remove.push_back(entry.name);
  } else if (entry.type == FileType::directory && (entry.name.starts_with('@') || entry.name == ".bin")) {
    steps.old_scopes.push_back(entry.name);
  } else {
    steps.aside.push_back(entry.name);
  }
}

// "#!/usr/bin/env node" -> "node"; "#!/bin/bash -e" -> "/bin/bash -e". Nothing: a shell runs it.
std::string interpreter_of(std::string_view text) {
  if (!text.starts_with("#!")) return "sh";
  std::string_view line = text.substr(2, text.find('\n') == std::string_view::npos ? 0 : text.find('\n') - 2);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  for (const std::string_view env : {"/usr/bin/env -S ", "/usr/bin/env "})
    if (line.starts_with(env)) return std::string(line.substr(env.size()));
  return line.empty() ? "sh" : std::string(line);
}

std::string shell_quoted(std::string_view text) {
  std::string quoted = "\"$(dirname -- \"$0\")/";
  for (const char c : text) {
    if (c == '"' || c == '$' || c == '`' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

Result<std::vector<ExistingEntry>> list_existing(int dir, const std::string& path) {
  PFNM_TRY_ASSIGN(const Fd fd, open_dir_at(dir, path));
  PFNM_TRY_ASSIGN(const auto entries, list_dir(fd.get(), path));
  std::vector<ExistingEntry> existing;
  existing.reserve(entries.size());
  for (const DirEntry& entry : entries) {
    ExistingEntry out{entry.name, entry.type, {}};
    if (entry.type == FileType::symlink) {
      PFNM_TRY_ASSIGN(out.link, read_link_at(fd.get(), entry.name));
    }
    existing.push_back(std::move(out));
  }
  return existing;
}

BinForm survey_bin(const std::string& project, const PlanItem& item) {
  // `identity` is the file's path in the project, `target` the link text from the directory.
  const std::string path = project + "/" + item.identity;
  BinForm form;
  const auto st = stat_at(AT_FDCWD, path);
  if (!st.has_value() || !st->is_regular()) return form;
  const auto text = read_file(AT_FDCWD, path);
  if (!text.has_value()) return form;
  const auto first_line = std::string_view(*text).substr(0, text->find('\n'));
  const bool dos_shebang = first_line.starts_with("#!") && first_line.ends_with('\r');
  if ((st->mode & 0111U) != 0 && !dos_shebang) {
    form.kind = BinForm::Kind::link;
    form.content = item.target;
    return form;
  }
  // npm would set the execute bit (and mend the line end) in the source, and git would show it as a change.
  form.kind = BinForm::Kind::wrapper;
  form.content = "#!/bin/sh\nexec " + interpreter_of(*text) + " " + shell_quoted(item.target) + " \"$@\"\n";
  return form;
}

bool is_our_link(const ContainerContext& context, const ExistingEntry& entry) {
  if (entry.type != FileType::symlink) return false;
  if (is_hop_target(entry.link) || entry.link.starts_with(context.store + "/")) return true;
  return owns(context.own, OwnKind::workspace_link, child_path(context.dir, entry.name), &entry.link);
}

ContainerSteps plan_container(const ContainerContext& context, const std::vector<ExistingEntry>& existing) {
  ContainerSteps steps;
  for (const ExistingEntry& entry : existing) {
    const PlanItem* item = find_item(context.dir, entry.name);
    if (item != nullptr) {
      judge_planned(context, *item, entry, steps);
    } else {
      judge_unplanned(context, entry, steps);
    }
  }
  auto at = existing.begin();
  for (const PlanItem& item : context.dir.items) {
    while (at != existing.end() && at->name < item.name) ++at;
    if (at != existing.end() && at->name == item.name) continue;
    if (item.op == PlanOp::workspace_bin &&
        survey_bin(context.project, item).kind == BinForm::Kind::none)
      continue;
    steps.create.push_back(&item);
  }
  return steps;
}

}  // namespace pfnm
