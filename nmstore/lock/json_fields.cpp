#include "nmstore/lock/json_fields.hpp"

#include <simdjson.h>

#include <algorithm>
#include <map>

#include "nmstore/lock/lock_paths.hpp"

namespace pfnm::json {

namespace dom = simdjson::dom;

std::string text(const dom::element& value) {
  std::string_view found;
  if (value.get(found) != simdjson::SUCCESS) return {};
  return std::string(found);
}

void put(Pairs& pairs, std::string_view key, std::string_view value) {
  auto same = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == key; });
  if (same != pairs.end()) {
    same->second = value;
  } else {
    pairs.emplace_back(key, value);
  }
}

Pairs text_members(const dom::element& value) {
  Pairs members;
  dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return members;
  for (const auto field : object) {
    std::string_view member;
    if (field.value.get(member) == simdjson::SUCCESS) put(members, field.key, member);
  }
  return members;
}

std::vector<std::string> text_list(const dom::element& value) {
  std::vector<std::string> list;
  dom::array array;
  if (value.is_string()) {
    list.push_back(text(value));
  } else if (value.get(array) == simdjson::SUCCESS) {
    for (const dom::element item : array) {
      if (item.is_string()) list.push_back(text(item));
    }
  }
  return list;
}

std::vector<std::string> workspace_globs(const dom::element& value) {
  dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return text_list(value);
  std::vector<std::string> globs;
  for (const auto field : object) {
    if (field.key == "packages") globs = text_list(field.value);
  }
  return globs;
}

namespace {

std::string with_slashes(std::string_view path, std::string_view also) {
  std::string slashed(path);
  std::replace_if(
      slashed.begin(), slashed.end(), [&](char c) { return also.find(c) != std::string_view::npos; }, '/');
  return slashed;
}

void add_bin(Pairs& bins, std::string_view key, std::string_view target) {
  const std::string name = lock_path::below_root(lock_path::base_name(with_slashes(key, "\\:")));
  const std::string path = lock_path::below_root(with_slashes(target, "\\"));
  if (!name.empty() && !path.empty()) put(bins, name, path);
}

}  // namespace

Pairs bins(const dom::element& value, std::string_view package_name) {
  Pairs normalised;
  dom::object object;
  if (value.is_string()) {
    if (!package_name.empty()) add_bin(normalised, package_name, text(value));
  } else if (value.is_array()) {
    for (const std::string& path : text_list(value)) add_bin(normalised, lock_path::base_name(path), path);
  } else if (value.get(object) == simdjson::SUCCESS) {
    for (const auto& pair : text_members(value)) add_bin(normalised, pair.first, pair.second);
  }
  return normalised;
}

namespace {

// One spelling per string: only what JSON demands is escaped.
std::string json_string(std::string_view raw) {
  constexpr std::string_view k_hex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += k_hex[byte >> 4U];
      out += k_hex[byte & 15U];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

std::string canonical(const dom::element& value) {
  dom::object object;
  dom::array array;
  std::string out;
  if (value.get(object) == simdjson::SUCCESS) {
    std::map<std::string, std::string> members;  // sorted, and the last of equal keys stays
    for (const auto field : object) members[std::string(field.key)] = canonical(field.value);
    for (const auto& member : members) {
      out += json_string(member.first) + ':' + member.second + ',';
    }
    if (!out.empty()) out.pop_back();
    return '{' + out + '}';
  }
  if (value.get(array) == simdjson::SUCCESS) {
    for (const dom::element item : array) out += canonical(item) + ',';
    if (!out.empty()) out.pop_back();
    return '[' + out + ']';
  }
  if (value.is_string()) return json_string(text(value));
  return simdjson::minify(value);
}

std::optional<std::string> duplicate_key(const dom::object& object) {
  std::vector<std::string_view> keys;
  for (const auto field : object) keys.push_back(field.key);
  std::sort(keys.begin(), keys.end());
  auto same = std::adjacent_find(keys.begin(), keys.end());
  if (same == keys.end()) return std::nullopt;
  return std::string(*same);
}

std::optional<std::string> parse_scalar(std::string_view json) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  dom::element value;
  if (json.empty() || parser.parse(padded).get(value) != simdjson::SUCCESS) return std::nullopt;
  return value.is_string() ? text(value) : std::string(simdjson::minify(value));
}

std::string_view without_bom(std::string_view bytes) {
  constexpr std::string_view k_bom = "\xEF\xBB\xBF";
  if (bytes.substr(0, k_bom.size()) == k_bom) bytes.remove_prefix(k_bom.size());
  return bytes;
}

namespace {

// The line of the first conflict marker, 0 if there is none. JSON has no raw line ends inside strings, so a line that
// starts so is a marker.
std::size_t conflict_line(std::string_view bytes) {
  std::size_t line = 1;
  while (!bytes.empty()) {
    if (bytes.substr(0, 8) == "<<<<<<< " || bytes.substr(0, 8) == ">>>>>>> " || bytes.substr(0, 8) == "||||||| ")
      return line;
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return 0;
    bytes.remove_prefix(end + 1);
    ++line;
  }
  return 0;
}

}  // namespace

Error not_json(std::string_view operation, std::string_view shown_path, std::string_view bytes,
               std::string_view detail) {
  bytes = without_bom(bytes);
  if (bytes.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return Error::make(Errc::bad_input, operation, shown_path, "the file is empty");
  if (const std::size_t line = conflict_line(bytes); line != 0)
    return Error::make(Errc::bad_input, operation, shown_path,
                       "git conflict markers (line " + std::to_string(line) + ")",
                       "resolve the conflict first; for a lock, npm install --package-lock-only does it");
  return Error::make(Errc::bad_input, operation, shown_path, "not valid JSON: " + std::string(detail),
                     "restore the file from git, or let npm install write it again");
}

}  // namespace pfnm::json
