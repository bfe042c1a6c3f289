#include "nmstore/store/seal.hpp"

#include <fcntl.h>
#include <xxhash.h>

#include "nmstore/platform/read.hpp"
#include "nmstore/store/line_file.hpp"

namespace pfnm {
namespace {

constexpr int k_version = 1;

bool into(std::string_view text, std::uint64_t& value) {
  const auto parsed = parse_u64(text);
  if (parsed) value = *parsed;
  return parsed.has_value();
}

bool parse_number_line(const Line& line, Seal& seal) {
  if (line[0] == "manifest") return into(line[1], seal.manifest_checksum);
  if (line[0] == "plan") return into(line[1], seal.plan_checksum);
  if (line[0] == "bytes") return into(line[1], seal.bytes);
  if (line[0] == "entries") return into(line[1], seal.entries);
  if (line[0] != "sealed") return false;
  const auto at = parse_i64(line[1]);
  if (at) seal.sealed_at = *at;
  return at.has_value();
}

bool parse_name_line(const Line& line, Seal& seal) {
  if (line[0] == "install") {
    const auto name = InstallName::parse(line[1]);
    if (name) seal.install = *name;
    return name.has_value();
  }
  if (line[0] == "fingerprint") {
    const auto digest = Digest::parse(line[1]);
    if (digest) seal.fingerprint = *digest;
    return digest.has_value();
  }
  if (line[0] == "boot") {
    seal.boot = line[1];
    return true;
  }
  if (line[0] == "builder") {
    seal.builder = line[1];
    return true;
  }
  if (line[0] == "synced") {
    seal.synced = line[1] == "yes" ? Synced::yes : Synced::no;
    return line[1] == "yes" || line[1] == "no";
  }
  return parse_number_line(line, seal);
}

bool parse_seal_line(const Line& line, Seal& seal) {
  if (line.size() == 3 && line[0] == "item") {
    seal.items.emplace_back(line[1], line[2]);
    return true;
  }
  if (line.size() == 3 && line[0] == "not-run") {
    seal.not_run.emplace_back(line[1], line[2]);
    return true;
  }
  return line.size() == 2 && parse_name_line(line, seal);
}

}  // namespace

std::string render_seal(const Seal& seal) {
  LineWriter out("seal", k_version);
  out.line({"install", seal.install.text});
  out.line({"fingerprint", seal.fingerprint.to_hex()});
  out.line({"manifest", std::to_string(seal.manifest_checksum)});
  out.line({"plan", std::to_string(seal.plan_checksum)});
  out.line({"boot", seal.boot});
  out.line({"synced", seal.synced == Synced::yes ? "yes" : "no"});
  out.line({"sealed", std::to_string(seal.sealed_at)});
  out.line({"bytes", std::to_string(seal.bytes)});
  out.line({"entries", std::to_string(seal.entries)});
  out.line({"builder", seal.builder});
  for (const auto& [name, value] : seal.items) out.line({"item", name, value});
  for (const auto& [directory, script] : seal.not_run) out.line({"not-run", directory, script});
  return std::move(out).finish();
}

Result<Seal> parse_seal(std::string_view text, std::string_view shown_path) {
  PFNM_TRY_ASSIGN(const auto lines, parse_lines(text, "seal", k_version, shown_path));
  Seal seal;
  for (const Line& line : lines)
    if (!parse_seal_line(line, seal))
      return fail(Error::make(Errc::corrupt, "read", shown_path, "bad line: " + line[0]));
  if (seal.install.text.empty()) return fail(Error::make(Errc::corrupt, "read", shown_path, "no install is named"));
  return seal;
}

Result<std::optional<Seal>> find_seal(const StorePaths& paths, const InstallName& name) {
  PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, paths.seal(name)));
  if (!text) return std::optional<Seal>{};
  PFNM_TRY_ASSIGN(Seal seal, parse_seal(*text, paths.seal(name)));
  // A store wiped by hand, or an install removed by something else: the seal alone is no install.
  PFNM_TRY_ASSIGN(const auto plan, find_stat(AT_FDCWD, plan_file(paths.install(name))));
  if (!plan) return std::optional<Seal>{};
  return std::optional<Seal>{std::move(seal)};
}

Status publish_seal(const Fs& fs, const StorePaths& paths, const Seal& seal) {
  return fs.write_file(AT_FDCWD, paths.seal(seal.install), render_seal(seal), 0600,
                       seal.synced == Synced::yes ? Durable::yes : Durable::no);
}

bool needs_verification(const Seal& seal, std::string_view current_boot) {
  return seal.synced == Synced::no && seal.boot != current_boot;
}

std::uint64_t checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace pfnm
