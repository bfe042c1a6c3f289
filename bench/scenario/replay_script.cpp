#include "bench/scenario/replay_script.hpp"

#include <fcntl.h>

#include "nmstore/layout/links.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/names.hpp"
#include "nmstore/store/plan.hpp"

namespace pfnm::bench {
namespace {

class Writer {
 public:
  void directory(const std::string& path) {
    put({"D", path});
    ++script_.directories;
  }
  void link(const std::string& path, const std::string& target) {
    put({"L", path, target});
    ++script_.links;
  }
  void copy(const std::string& path, const std::string& source) {
    put({"C", path, source});
    ++script_.copies;
  }
  [[nodiscard]] ReplayScript finish() && { return std::move(script_); }

 private:
  void put(std::initializer_list<std::string_view> fields) {
    for (const std::string_view field : fields) script_.text.append(field).push_back('\0');
  }
  ReplayScript script_;
};

Status add_item(Writer& writer, const std::string& project, const std::string& install, const std::string& path,
                const PlanItem& item) {
  switch (item.op) {
    case PlanOp::hop_link:
    case PlanOp::workspace_link:
      writer.link(path, item.target);
      return {};
    case PlanOp::copy:
      writer.copy(path, install + "/" + item.target);
      return {};
    case PlanOp::workspace_bin:
      break;
  }
  PFNM_TRY_ASSIGN(const auto st, find_stat(AT_FDCWD, project + "/" + path));
  if (!st) return {};  // the worktree has no such file
  if (!st->is_symlink()) {
    writer.copy(path, project + "/" + path);
    return {};
  }
  PFNM_TRY_ASSIGN(const std::string target, read_link_at(AT_FDCWD, project + "/" + path));
  writer.link(path, target);
  return {};
}

std::string next_field(std::string_view& rest) {
  const auto nul = rest.find('\0');
  std::string field(rest.substr(0, nul));
  rest = rest.substr(nul + 1);
  return field;
}

}  // namespace

Result<std::string> install_of(const std::string& project) {
  return read_link_at(AT_FDCWD, project + "/node_modules/" + k_hop);
}

Result<ReplayScript> script_for(const std::string& project) {
  PFNM_TRY_ASSIGN(const std::string install, install_of(project));
  PFNM_TRY_ASSIGN(const std::string bytes, read_file(AT_FDCWD, plan_file(install)));
  PFNM_TRY_ASSIGN(const LayoutPlan plan, parse_plan(bytes, plan_file(install)));
  Writer writer;
  writer.directory("node_modules");
  writer.link(std::string("node_modules/") + k_marker, k_hop);
  writer.directory(std::string("node_modules/") + k_hop_dir);
  writer.link(std::string("node_modules/") + k_hop, install);
  for (const PlanDir& dir : plan.dirs) {
    if (!container_wanted(project, dir.path)) continue;
    if (dir.path != "node_modules") writer.directory(dir.path);
    for (const PlanItem& item : dir.items)
      PFNM_TRY(add_item(writer, project, install, dir.path + "/" + item.name, item));
  }
  for (const char* name : k_writable_dirs) writer.directory(std::string("node_modules/") + name);
  writer.copy("node_modules/.package-lock.json", layout_lock_file(install));
  return std::move(writer).finish();
}

Status check_replayed(const ReplayScript& script, const std::string& project) {
  std::string_view rest = script.text;
  while (!rest.empty()) {
    const std::string operation = next_field(rest);
    const std::string path = project + "/" + next_field(rest);
    const std::string other = operation == "D" ? "" : next_field(rest);
    PFNM_TRY_ASSIGN(const FileStat st, stat_at(AT_FDCWD, path));
    bool right = operation == "C" || (operation == "D" && st.is_dir());
    if (operation == "L" && st.is_symlink()) {
      PFNM_TRY_ASSIGN(const std::string target, read_link_at(AT_FDCWD, path));
      right = target == other;
    }
    if (!right) return fail(Error::make(Errc::corrupt, "compare", path, "the floor does not make what pfnm makes"));
  }
  return {};
}

}  // namespace pfnm::bench
