#include "bench/scenario/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace pfnm::bench {
namespace {

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::ignore = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

// Three digits that matter, so that 0.61 ms and 1,204 ms are both readable.
std::string milliseconds(double value) { return fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0); }

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

// 0 where there is nothing to compare with.
double ratio_of(const CreateReport& report, const Row& row) {
  const auto floor = std::find_if(report.rows.begin(), report.rows.end(),
                                  [&](const Row& candidate) { return candidate.id == row.floor; });
  if (floor == report.rows.end() || floor->timings.empty() || row.timings.empty()) return 0;
  return summarise(row.timings).median / summarise(floor->timings).median;
}

std::string ratio_text(const CreateReport& report, const Row& row) {
  const double ratio = ratio_of(report, row);
  if (ratio <= 0) return "";
  std::string text = fixed(ratio, 2) + " × " + row.floor;
  if (row.bar > 0) text += " (bar " + fixed(row.bar, 1) + (ratio <= row.bar ? ", met)" : ", **missed**)");
  return text;
}

}  // namespace

std::string render_table(const CreateReport& report) {
  std::string out = report.project + ", on " + report.file_system;
  for (const auto& [name, count] : report.sizes) out += ", " + std::to_string(count) + " " + name;
  out +=
      "\n\n| what | rounds | median ms | p10 – p90 | ratio | CPU ms | peak RSS MiB |\n| --- | --- | --- | --- | --- | "
      "--- | --- |\n";
  for (const Row& row : report.rows) {
    out += "| `" + row.id + "`: " + row.what + " | ";
    if (row.timings.empty()) {
      out += "– | skipped: " + row.skipped + " | | | | |\n";
      continue;
    }
    const Summary summary = summarise(row.timings);
    out += std::to_string(summary.rounds) + " | " + milliseconds(summary.median) + " | " + milliseconds(summary.p10) +
           " – " + milliseconds(summary.p90) + " | " + ratio_text(report, row) + " | " +
           milliseconds(summary.cpu_median) + " | " + fixed(static_cast<double>(summary.max_rss_kib) / 1024, 1) +
           " |\n";
  }
  return out;
}

std::string render_json(const CreateReport& report) {
  std::string out = "{\"schema\": \"pfnm.bench.create/1\", \"project\": " + quoted(report.project) +
                    ", \"file_system\": " + quoted(report.file_system) + ", \"sizes\": {";
  for (std::size_t i = 0; i < report.sizes.size(); ++i)
    out += (i == 0 ? "" : ", ") + quoted(report.sizes[i].first) + ": " + std::to_string(report.sizes[i].second);
  out += "}, \"rows\": [";
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const Row& row = report.rows[i];
    const Summary summary = summarise(row.timings);
    out += std::string(i == 0 ? "\n" : ",\n") + "  {\"id\": " + quoted(row.id) + ", \"what\": " + quoted(row.what);
    if (!row.skipped.empty()) out += ", \"skipped\": " + quoted(row.skipped);
    out += ", \"rounds\": " + std::to_string(summary.rounds) + ", \"median_ms\": " + fixed(summary.median, 4) +
           ", \"p10_ms\": " + fixed(summary.p10, 4) + ", \"p90_ms\": " + fixed(summary.p90, 4) +
           ", \"cpu_median_ms\": " + fixed(summary.cpu_median, 4) +
           ", \"max_rss_bytes\": " + std::to_string(summary.max_rss_kib * 1024);
    if (const double ratio = ratio_of(report, row); ratio > 0)
      out += ", \"floor\": " + quoted(row.floor) + ", \"ratio\": " + fixed(ratio, 4);
    if (row.bar > 0) out += ", \"bar\": " + fixed(row.bar, 2);
    out += ", \"samples_ms\": [";
    for (std::size_t j = 0; j < row.timings.size(); ++j)
      out += (j == 0 ? "" : ", ") + fixed(row.timings[j].milliseconds, 4);
    out += "]}";
  }
  return out + "\n]}\n";
}

Met bars_met(const CreateReport& report) {
  const bool met = std::all_of(report.rows.begin(), report.rows.end(),
                               [&](const Row& row) { return row.bar <= 0 || ratio_of(report, row) <= row.bar; });
  return met ? Met::yes : Met::no;
}

}  // namespace pfnm::bench
