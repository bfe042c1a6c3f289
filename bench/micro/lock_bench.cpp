// The lock, from bytes to key.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <nlohmann/json.hpp>

#include "bench/micro/inputs.hpp"
#include "nmstore/lock/closure.hpp"
#include "nmstore/lock/lock_key.hpp"

namespace pfnm::bench {
namespace {

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(lock_text().size()));
}

void sha256_of_lock(benchmark::State& state) {
  const Digest expected = sha256(lock_text());
  for (auto _ : state) require(sha256(lock_text()) == expected, "sha256 is the same each time");
  count_bytes(state);
}
BENCHMARK(sha256_of_lock);

void sha256_text_of_lock(benchmark::State& state) {
  const Digest expected = sha256_text(lock_text());
  for (auto _ : state) require(sha256_text(lock_text()) == expected, "sha256_text is the same each time");
  count_bytes(state);
}
BENCHMARK(sha256_text_of_lock);

// All of the product's reading: JSON, every field, every check, the index.
void parse_lock(benchmark::State& state) {
  const std::size_t expected = parsed_lock().entries.size();
  for (auto _ : state) {
    const auto lock = parse_npm_lock(lock_text(), "package-lock.json");
    require(lock.has_value() && lock->entries.size() == expected, "parse_npm_lock finds every entry");
  }
  count_bytes(state);
}
BENCHMARK(parse_lock)->Unit(benchmark::kMicrosecond);

// The share of the JSON library in it: the document alone, with the copy into a padded buffer.
void simdjson_document(benchmark::State& state) {
  const std::size_t expected = parsed_lock().entries.size();
  for (auto _ : state) {
    simdjson::dom::parser parser;
    const simdjson::padded_string padded(lock_text());
    simdjson::dom::object packages;
    require(parser.parse(padded)["packages"].get(packages) == simdjson::SUCCESS && packages.size() == expected,
            "simdjson finds every entry");
  }
  count_bytes(state);
}
BENCHMARK(simdjson_document)->Unit(benchmark::kMicrosecond);

// What the other library would need for the same.
void nlohmann_document(benchmark::State& state) {
  const std::size_t expected = parsed_lock().entries.size();
  for (auto _ : state) {
    const auto document = nlohmann::json::parse(lock_text(), nullptr, false);
    require(document.is_object() && document["packages"].size() == expected, "nlohmann finds every entry");
  }
  count_bytes(state);
}
BENCHMARK(nlohmann_document)->Unit(benchmark::kMicrosecond);

void key_of_lock(benchmark::State& state) {
  const KeyInputs inputs{parsed_lock(),
                         sha256_text(lock_text()),
                         {"20.0.0", "115", "linux", "x64", "glibc", "10.0.0"},
                         {},
                         {},
                         {},
                         std::nullopt,
                         {}};
  const LockKey expected = compute_key(inputs).key;
  for (auto _ : state) require(compute_key(inputs).key == expected, "the key is the same each time");
}
BENCHMARK(key_of_lock)->Unit(benchmark::kMicrosecond);

void closure_of_workspaces(benchmark::State& state) {
  const std::size_t expected = packages_reaching_workspaces(parsed_lock()).size();
  for (auto _ : state)
    require(packages_reaching_workspaces(parsed_lock()).size() == expected, "the closure is the same each time");
  state.counters["packages"] = static_cast<double>(expected);
}
BENCHMARK(closure_of_workspaces)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace pfnm::bench
