// The deciding part of a re-link: what stands in a directory against what the plan wants there.
#include <benchmark/benchmark.h>

#include "bench/micro/inputs.hpp"
#include "nmstore/layout/container.hpp"

namespace pfnm::bench {
namespace {

std::vector<ExistingEntry> standing(const PlanDir& dir) {
  std::vector<ExistingEntry> existing;
  for (const PlanItem& item : dir.items) existing.push_back({item.name, FileType::symlink, item.target});
  return existing;
}

const std::string& project() {
  static const std::string path = "/project";
  return path;
}

ContainerSteps plan_once(const std::vector<ExistingEntry>& existing) {
  const PlanDir& root = layout_plan().dirs.front();
  return plan_container({project(), layout_plan(), root, record().own, record().store, {}}, existing);
}

void plan_container_unchanged(benchmark::State& state) {
  const auto existing = standing(layout_plan().dirs.front());
  std::size_t scopes = 0;
  for (auto _ : state) {
    const ContainerSteps steps = plan_once(existing);
    require(steps.nothing_to_do(), "a layout that stands needs nothing");
    benchmark::DoNotOptimize(scopes += steps.create.size());
  }
  state.counters["entries"] = static_cast<double>(existing.size());
}
BENCHMARK(plan_container_unchanged)->Unit(benchmark::kMicrosecond);

// Every hundredth link leads elsewhere, every other hundredth is missing.
void plan_container_one_percent(benchmark::State& state) {
  std::vector<ExistingEntry> existing;
  std::size_t changed = 0;
  std::size_t missing = 0;
  for (ExistingEntry& entry : standing(layout_plan().dirs.front())) {
    const std::size_t number = existing.size() + missing;
    if (number % 100 == 50) {
      ++missing;
      continue;
    }
    if (number % 100 == 0) {
      entry.link += "-old";
      ++changed;
    }
    existing.push_back(std::move(entry));
  }
  for (auto _ : state) {
    const ContainerSteps steps = plan_once(existing);
    require(steps.remove.size() == changed && steps.create.size() == changed + missing && steps.aside.empty(),
            "exactly what differs is done");
  }
}
BENCHMARK(plan_container_one_percent)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace pfnm::bench
