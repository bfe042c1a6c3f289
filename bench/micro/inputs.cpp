#include "bench/micro/inputs.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "bench/support/synthetic.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm::bench {
namespace {

constexpr std::size_t k_packages = 1000;
constexpr std::size_t k_workspaces = 3;

std::string read_lock() {
  const char* const path = std::getenv("PFNM_BENCH_LOCK");
  if (path == nullptr) return render_lock(make_synthetic({k_packages, k_workspaces, 0}));
  auto text = read_file(AT_FDCWD, path);
  require(text.has_value(), "PFNM_BENCH_LOCK can be read");
  return std::move(*text);
}

LayoutPlan make_plan() {
  std::map<std::string, std::vector<PlanItem>> dirs{{"node_modules", {}}};
  for (const LockEntry& entry : parsed_lock().entries) {
    if (!entry.path.starts_with("node_modules/") || entry.path.rfind("node_modules/") != 0) continue;
    const auto slash = entry.path.find_last_of('/');
    const std::string dir = entry.path.substr(0, slash);
    const std::string up = dir == "node_modules" ? "" : "../";
    dirs[dir].push_back({PlanOp::hop_link, entry.path.substr(slash + 1), up + ".pf/shared/" + entry.path, {}});
  }
  LayoutPlan plan;
  for (auto& [path, items] : dirs) {
    std::sort(items.begin(), items.end(), [](const PlanItem& a, const PlanItem& b) { return a.name < b.name; });
    plan.dirs.push_back({path, PlanDirKind::managed, std::move(items)});
  }
  return plan;
}

Record make_record() {
  Record record;
  record.install = *InstallName::parse(sha256(lock_text()).to_hex());
  record.fingerprint = sha256("fingerprint");
  record.store = "/store";
  record.node = {"/usr/bin/node", 1, 2, 3};
  record.npm = {"/usr/bin/npm", 1, 3, 3};
  for (int i = 0; i < 12; ++i)
    record.inputs.push_back({"packages/w" + std::to_string(i) + "/package.json", InputKind::file, 1000, 4000, 5, 6,
                             sha256(std::to_string(i))});
  for (const PlanDir& dir : layout_plan().dirs) record.dirs.push_back({dir.path, 1'700'000'000'000'000'000});
  return record;
}

}  // namespace

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "bench_micro: not so: %s\n", what);
  std::exit(1);
}

const std::string& lock_text() {
  static const std::string text = read_lock();
  return text;
}

const NpmLock& parsed_lock() {
  static const NpmLock lock = [] {
    auto parsed = parse_npm_lock(lock_text(), "package-lock.json");
    require(parsed.has_value(), "the lock can be parsed");
    return std::move(*parsed);
  }();
  return lock;
}

const LayoutPlan& layout_plan() {
  static const LayoutPlan plan = make_plan();
  return plan;
}

const Record& record() {
  static const Record made = make_record();
  return made;
}

}  // namespace pfnm::bench
