#include "nmstore/build/plan_layout.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "nmstore/lock/closure.hpp"

namespace pfnm {
namespace {

constexpr std::string_view k_modules = "node_modules";

std::size_t depth_of(std::string_view path) {
  return static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) + (path.empty() ? 0 : 1);
}

std::string up(std::size_t levels) {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) text += "../";
  return text;
}

// Link text from a directory of the layout (a node_modules, a scope, a .bin) to the same place in the install.
std::string through_hop(const std::string& container, const std::string& directory, std::string_view name) {
  const std::size_t below = depth_of(directory) - depth_of(container);  // 0 in node_modules, 1 in a scope
  std::string text;
  if (container == k_modules) {
    text = up(below) + ".pf/shared/";
  } else {
    text = up(depth_of(directory)) + "node_modules/.pf/shared/";
  }
  return text + directory + "/" + std::string(name);
}

// The node_modules directories that a layout has: the root's, and those of directories outside it.
void find_containers(const ManifestView& manifest, const ManifestView::Entry& directory, const std::string& path,
                     std::vector<std::string>& containers) {
  for (std::uint32_t i = 0; i < directory.child_count; ++i) {
    const auto child = manifest.at(directory.first_child + i);
    if (child.type != FileType::directory) continue;
    const std::string child_path = (path.empty() ? "" : path + "/") + std::string(child.name);
    if (child.name == k_modules) {
      containers.push_back(child_path);
    } else {
      find_containers(manifest, child, child_path, containers);
    }
  }
}

bool is_top_level(std::string_view path) {
  // One node_modules component, with a name (and perhaps a scope) behind it.
  const auto last = path.rfind("node_modules/");
  const auto first = path.find("node_modules/");
  return last == first && first != std::string_view::npos;
}

class Planner {
 public:
  Planner(const ManifestView& manifest, const NpmLock& lock) : manifest_(manifest), lock_(lock) {
    const auto copied = copied_packages(lock);
    copied_.insert(copied.begin(), copied.end());
  }

  LayoutPlan plan() {
    std::vector<std::string> containers;
    find_containers(manifest_, manifest_.at(k_manifest_root), "", containers);
    std::sort(containers.begin(), containers.end());
    std::stable_partition(containers.begin(), containers.end(), [](const auto& path) { return path == k_modules; });
    if (containers.empty() || containers.front() != k_modules) containers.insert(containers.begin(), "node_modules");
    for (const std::string& container : containers) add_directory(container, container);
    add_workspace_bins();
    return std::move(plan_);
  }

 private:
  PlanDir& directory(const std::string& path) {
    const auto at = std::find_if(plan_.dirs.begin(), plan_.dirs.end(), [&](const auto& d) { return d.path == path; });
    if (at != plan_.dirs.end()) return *at;
    plan_.dirs.push_back({path, PlanDirKind::managed, {}});
    return plan_.dirs.back();
  }

  void add_directory(const std::string& container, const std::string& path) {
    std::vector<PlanItem> items;
    std::vector<std::string> below;
    directory(path);
    const auto entry = manifest_.find(path);
    for (std::uint32_t i = 0; entry && i < entry->child_count; ++i)
      add_entry(container, path, manifest_.at(entry->first_child + i), items, below);
    directory(path).items = std::move(items);
    for (const std::string& child : below) add_directory(container, child);
  }

  void add_entry(const std::string& container, const std::string& path, const ManifestView::Entry& entry,
                 std::vector<PlanItem>& items, std::vector<std::string>& below) {
    const std::string name(entry.name);
    const std::string full = path + "/" + name;
    const bool top = path == container;
    if (top && entry.type == FileType::directory && (name == ".bin" || name.starts_with('@'))) {
      below.push_back(full);
    } else if (path.ends_with("/.bin")) {
      items.push_back({PlanOp::hop_link, name, through_hop(container, path, name), {}});
    } else if (top && name == ".package-lock.json") {
      return;  // the layout has its own (SPEC 3.6)
    } else if (entry.type == FileType::symlink) {
      // npm's link to a workspace or file: directory; relative, so it means the worktree's own.
      items.push_back({PlanOp::workspace_link, name, std::string(entry.link), {}});
    } else if (copied_.contains(full) || name.starts_with('.') || entry.type != FileType::directory) {
      items.push_back({PlanOp::copy, name, full, subtree_digest(manifest_, entry.index).to_hex()});
    } else {
      items.push_back({PlanOp::hop_link, name, through_hop(container, path, name), {}});
    }
  }

  // npm links them in the order (depth, path), after those of packages; the first to claim a name keeps it.
  void add_workspace_bins() {
    std::vector<const LockEntry*> links;
    for (const LockEntry& entry : lock_.entries)
      if (entry.kind == EntryKind::link) links.push_back(&entry);
    std::sort(links.begin(), links.end(), [](const LockEntry* a, const LockEntry* b) {
      return std::pair(depth_of(a->path), a->path) < std::pair(depth_of(b->path), b->path);
    });
    for (const LockEntry* link : links) add_bins_of(*link);
  }

  void add_bins_of(const LockEntry& link) {
    const LockEntry* target = link_target(lock_, link);
    if (target == nullptr || target->bin.empty()) return;
    const auto modules = link.path.rfind("node_modules/");
    if (modules == std::string::npos) return;
    const std::string container = link.path.substr(0, modules + k_modules.size());
    PlanDir& bin = directory(container + "/.bin");
    for (const auto& [name, file] : target->bin) {
      const auto at = std::lower_bound(bin.items.begin(), bin.items.end(), name,
                                       [](const PlanItem& item, const std::string& wanted) { return item.name < wanted; });
      if (at != bin.items.end() && at->name == name) continue;
      const std::string in_project = target->path.empty() ? file : target->path + "/" + file;
      const std::string text = "../" + link.path.substr(modules + k_modules.size() + 1) + "/" + file;
      bin.items.insert(at, {PlanOp::workspace_bin, name, text, in_project});
    }
  }

  const ManifestView& manifest_;
  const NpmLock& lock_;
  std::set<std::string> copied_;
  LayoutPlan plan_;
};

// Prisma up to 6 generates into node_modules/.prisma, found beside the real path of @prisma/client.
std::vector<std::string> prisma_clients(const NpmLock& lock) {
  std::vector<std::string> clients;
  for (const LockEntry& entry : lock.entries) {
    if (entry.kind != EntryKind::package || entry.name != "@prisma/client" || !is_top_level(entry.path)) continue;
    const std::string major = entry.version.substr(0, entry.version.find('.'));
    if (major.size() == 1 && major <= "6") clients.push_back(entry.path);
  }
  return clients;
}

}  // namespace

std::vector<std::string> copied_packages(const NpmLock& lock) {
  std::set<std::string> copied;
  for (const std::string& path : packages_reaching_workspaces(lock)) copied.insert(path);
  if (const auto clients = prisma_clients(lock); !clients.empty())
    for (const std::string& path : packages_reaching(lock, clients)) copied.insert(path);
  // npm accepts no link in the place of a tarball or repository dependency. One without packages of its own below it can
  // be described as what it is (render_layout_lock); one with some has to be it.
  for (const std::string& path : non_registry_dependencies(lock)) {
    const bool nests = std::any_of(lock.entries.begin(), lock.entries.end(), [&](const LockEntry& entry) {
      return entry.path.starts_with(path + "/node_modules/");
    });
    if (nests) copied.insert(path);
  }
  // A nested one lies inside a package that depends on it, and that one is copied whole.
  std::erase_if(copied, [](const std::string& path) { return !is_top_level(path); });
  return {copied.begin(), copied.end()};
}

LayoutPlan plan_layout(const ManifestView& manifest, const NpmLock& lock) { return Planner(manifest, lock).plan(); }

}  // namespace pfnm
