#include "nmstore/lock/closure.hpp"

#include <algorithm>
#include <set>

namespace pfnm {

namespace {

using Index = std::size_t;

// For each entry the entries that depend on it. A link and its target are one node: the target.
std::vector<std::vector<Index>> dependents(const NpmLock& lock) {
  std::vector<std::vector<Index>> reverse(lock.entries.size());
  for (Index i = 0; i < lock.entries.size(); ++i) {
    const LockEntry& entry = lock.entries[i];
    if (entry.kind == EntryKind::link) continue;
    for (const DependencyMap* map : {&entry.dependencies, &entry.optional_dependencies, &entry.peer_dependencies}) {
      for (const auto& dependency : *map) {
        const LockEntry* found = resolve_dependency(lock, entry.path, dependency.first);
        if (found != nullptr) found = link_target(lock, *found);
        if (found != nullptr) reverse[static_cast<Index>(found - lock.entries.data())].push_back(i);
      }
    }
  }
  return reverse;
}

std::vector<char> reached_from(const NpmLock& lock, std::vector<Index> todo) {
  const std::vector<std::vector<Index>> reverse = dependents(lock);
  std::vector<char> seen(lock.entries.size(), 0);
  for (const Index i : todo) seen[i] = 1;
  while (!todo.empty()) {
    const Index at = todo.back();
    todo.pop_back();
    for (const Index dependent : reverse[at]) {
      if (seen[dependent] != 0) continue;
      seen[dependent] = 1;
      todo.push_back(dependent);
    }
  }
  return seen;
}

std::vector<std::string> package_paths(const NpmLock& lock, const std::vector<char>& seen) {
  std::vector<std::string> paths;
  for (Index i = 0; i < lock.entries.size(); ++i) {
    if (seen[i] == 0 || lock.entries[i].kind != EntryKind::package) continue;
    const std::string& path = lock.entries[i].path;
    paths.push_back(path);
    for (std::size_t at = path.rfind('/'); at != std::string::npos && at > 0; at = path.rfind('/', at - 1)) {
      const LockEntry* enclosing = lock.find(std::string_view(path).substr(0, at));
      if (enclosing != nullptr && enclosing->kind == EntryKind::package) paths.push_back(enclosing->path);
    }
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

}  // namespace

std::vector<std::string> packages_reaching_workspaces(const NpmLock& lock) {
  std::vector<Index> targets;
  for (const LockEntry& entry : lock.entries) {
    if (entry.kind != EntryKind::link) continue;
    const LockEntry* target = link_target(lock, entry);
    // A link into a package's own directory stays inside the install.
    if (target == nullptr || target->kind == EntryKind::package) continue;
    targets.push_back(static_cast<Index>(target - lock.entries.data()));
  }
  if (targets.empty()) return {};
  return package_paths(lock, reached_from(lock, std::move(targets)));
}

std::vector<std::string> packages_reaching(const NpmLock& lock, const std::vector<std::string>& targets) {
  std::vector<Index> found;
  for (const std::string& path : targets) {
    const LockEntry* entry = lock.find(path);
    if (entry != nullptr) entry = link_target(lock, *entry);
    if (entry != nullptr) found.push_back(static_cast<Index>(entry - lock.entries.data()));
  }
  return package_paths(lock, reached_from(lock, std::move(found)));
}

namespace {

bool is_registry_spec(std::string_view spec) {
  for (const std::string_view scheme : {"file:", "git", "http:", "https:", "bitbucket:", "gist:", "ssh:"})
    if (spec.starts_with(scheme)) return false;
  if (spec.starts_with("npm:") || spec.starts_with("workspace:")) return true;
  return spec.find('/') == std::string_view::npos;  // "user/repository"
}

}  // namespace

std::vector<std::string> non_registry_dependencies(const NpmLock& lock) {
  std::set<std::string> paths;
  for (const LockEntry& entry : lock.entries) {
    if (entry.kind != EntryKind::root && entry.kind != EntryKind::workspace) continue;
    for (const DependencyMap* map : {&entry.dependencies, &entry.dev_dependencies, &entry.optional_dependencies,
                                     &entry.peer_dependencies}) {
      for (const auto& [name, spec] : *map) {
        if (is_registry_spec(spec)) continue;
        const LockEntry* found = resolve_dependency(lock, entry.path, name);
        if (found != nullptr && found->kind == EntryKind::package) paths.insert(found->path);
      }
    }
  }
  return {paths.begin(), paths.end()};
}

std::vector<std::string> packages_reached_from(const NpmLock& lock, const std::vector<std::string>& sources) {
  std::set<std::string> seen;
  std::vector<const LockEntry*> todo;
  const auto visit = [&](const LockEntry* entry) {
    if (entry != nullptr) entry = link_target(lock, *entry);
    if (entry != nullptr && seen.insert(entry->path).second) todo.push_back(entry);
  };
  for (const std::string& path : sources) visit(lock.find(path));
  while (!todo.empty()) {
    const LockEntry* entry = todo.back();
    todo.pop_back();
    for (const DependencyMap* map : {&entry->dependencies, &entry->optional_dependencies, &entry->peer_dependencies})
      for (const auto& dependency : *map) visit(resolve_dependency(lock, entry->path, dependency.first));
  }
  std::erase_if(seen, [&](const std::string& path) { return lock.find(path)->kind != EntryKind::package; });
  return {seen.begin(), seen.end()};
}

}  // namespace pfnm
