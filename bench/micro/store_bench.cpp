// The store's formats, as the hot path reads them.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include "bench/micro/inputs.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/store/manifest.hpp"
#include "nmstore/store/seal.hpp"

namespace pfnm::bench {
namespace {

std::size_t item_count(const LayoutPlan& plan) {
  std::size_t count = 0;
  for (const PlanDir& dir : plan.dirs) count += dir.items.size();
  return count;
}

void parse_link_plan(benchmark::State& state) {
  const std::string bytes = render_plan(layout_plan());
  const std::size_t expected = item_count(layout_plan());
  for (auto _ : state) {
    const auto plan = parse_plan(bytes, "plan");
    require(plan.has_value() && item_count(*plan) == expected, "parse_plan finds every item");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(parse_link_plan)->Unit(benchmark::kMicrosecond);

void checksum_of_plan(benchmark::State& state) {
  const std::string bytes = render_plan(layout_plan());
  const std::uint64_t expected = checksum(bytes);
  for (auto _ : state) require(checksum(bytes) == expected, "the checksum is the same each time");
}
BENCHMARK(checksum_of_plan)->Unit(benchmark::kMicrosecond);

void parse_worktree_record(benchmark::State& state) {
  const std::string text = render_record(record());
  for (auto _ : state) {
    const auto parsed = parse_record(text, "record");
    require(parsed.has_value() && parsed->inputs.size() == record().inputs.size() &&
                parsed->dirs.size() == record().dirs.size(),
            "parse_record finds every line");
  }
}
BENCHMARK(parse_worktree_record)->Unit(benchmark::kMicrosecond);

void render_worktree_record(benchmark::State& state) {
  const std::size_t expected = render_record(record()).size();
  for (auto _ : state) require(render_record(record()).size() == expected, "render_record writes every line");
}
BENCHMARK(render_worktree_record)->Unit(benchmark::kMicrosecond);

// /node_modules/package<i>/lib/f<j>.js: 1 + 1 + n + n + 40 n entries.
constexpr EntryIndex k_packages = 1000;
constexpr EntryIndex k_files = 40;

std::string numbered(const char* prefix, EntryIndex number) {
  const std::string digits = std::to_string(number);
  return prefix + std::string(5 - digits.size(), '0') + digits;
}

std::vector<ManifestEntry> manifest_entries() {
  std::vector<ManifestEntry> entries;
  const auto add = [&](std::string name, EntryIndex parent, FileType type, EntryIndex first, EntryIndex count) {
    ManifestEntry entry;
    entry.name = std::move(name);
    entry.parent = parent;
    entry.type = type;
    entry.mode = 0644;
    entry.first_child = first;
    entry.child_count = count;
    entries.push_back(std::move(entry));
  };
  const EntryIndex libs = 2 + k_packages;
  const EntryIndex files = libs + k_packages;
  add("", 0, FileType::directory, 1, 1);
  add("node_modules", 0, FileType::directory, 2, k_packages);
  for (EntryIndex i = 0; i < k_packages; ++i) add(numbered("package", i), 1, FileType::directory, libs + i, 1);
  for (EntryIndex i = 0; i < k_packages; ++i) add("lib", 2 + i, FileType::directory, files + i * k_files, k_files);
  for (EntryIndex i = 0; i < k_packages; ++i)
    for (EntryIndex j = 0; j < k_files; ++j) add(numbered("f", j), libs + i, FileType::regular, 0, 0);
  return entries;
}

void find_in_manifest(benchmark::State& state) {
  std::string path = "/tmp/pfnm-bench-manifest-XXXXXX";
  const Fd file(::mkstemp(path.data()));
  require(static_cast<bool>(file), "a temporary file can be made");
  const std::string bytes = render_manifest(manifest_entries());
  require(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "it can be written");
  const auto manifest = ManifestView::open(path);
  require(manifest.has_value() && ::unlink(path.c_str()) == 0, "the manifest can be opened");
  EntryIndex number = 0;
  for (auto _ : state) {
    number = (number + 389) % k_packages;  // prime to it: every package in turn
    const auto found = manifest->find("node_modules/" + numbered("package", number) + "/lib/" + numbered("f", 7));
    require(found && found->type == FileType::regular, "the manifest has the file");
  }
}
BENCHMARK(find_in_manifest);

}  // namespace
}  // namespace pfnm::bench
