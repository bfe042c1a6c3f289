#include "nmstore/lock/npmrc.hpp"

#include "nmstore/lock/json_fields.hpp"

namespace pfnm {

namespace {

// What String.prototype.trim drops, as far as it turns up in files.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view k_space = " \t\v\f\r\n";
  constexpr std::string_view k_no_break = "\xC2\xA0";
  const auto is_space = [&](char c) { return k_space.find(c) != std::string_view::npos; };
  while (!text.empty()) {
    if (is_space(text.front())) {
      text.remove_prefix(1);
    } else if (is_space(text.back())) {
      text.remove_suffix(1);
    } else if (text.substr(0, 2) == k_no_break) {
      text.remove_prefix(2);
    } else if (text.size() > 1 && text.substr(text.size() - 2) == k_no_break) {
      text.remove_suffix(2);
    } else {
      break;
    }
  }
  return text;
}

bool is_quoted(std::string_view text) {
  return !text.empty() && text.front() == text.back() && (text.front() == '"' || text.front() == '\'');
}

std::string unquoted(std::string_view text) {
  if (text.front() == '\'') {
    text.remove_prefix(1);
    if (!text.empty()) text.remove_suffix(1);
  }
  return json::parse_scalar(text).value_or(std::string(text));
}

// ini's `unsafe`: quotes, else backslash escapes and the end at an unescaped comment sign.
std::string plain(std::string_view raw) {
  const std::string_view text = trimmed(raw);
  if (is_quoted(text)) return unquoted(text);
  constexpr std::string_view k_comment = ";#";
  std::string out;
  bool escaped = false;
  for (const char c : text) {
    if (escaped) {
      if (c != '\\' && k_comment.find(c) == std::string_view::npos) out += '\\';
      out += c;
      escaped = false;
    } else if (k_comment.find(c) != std::string_view::npos) {
      break;
    } else if (c == '\\') {
      escaped = true;
    } else {
      out += c;
    }
  }
  if (escaped) out += '\\';
  return std::string(trimmed(out));
}

// The end of "${NAME}" or "${NAME?}" that starts at `open`; npos when it is neither.
std::size_t variable_end(std::string_view text, std::size_t open) {
  const std::size_t end = text.find_first_of("${}?", open + 2);
  if (end == std::string_view::npos || end == open + 2) return std::string_view::npos;
  if (text[end] == '}') return end;
  const bool optional = text[end] == '?' && end + 1 < text.size() && text[end + 1] == '}';
  return optional ? end + 1 : std::string_view::npos;
}

std::string variable_value(std::string_view reference, const VariableLookup& lookup) {
  std::string_view name = reference.substr(2, reference.size() - 3);
  const bool optional = name.back() == '?';
  if (optional) name.remove_suffix(1);
  if (auto value = lookup ? lookup(name) : std::nullopt) return *std::move(value);
  return optional ? std::string() : "${" + std::string(name) + "}";
}

std::string expand(std::string_view text, const VariableLookup& lookup) {
  std::string out;
  std::size_t backslashes = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool opens = text[i] == '$' && i + 1 < text.size() && text[i + 1] == '{';
    const std::size_t end = opens ? variable_end(text, i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      backslashes = text[i] == '\\' ? backslashes + 1 : 0;
      out += text[i];
      continue;
    }
    const std::string_view reference = text.substr(i, end - i + 1);
    out.resize(out.size() - (backslashes + 1) / 2);  // each pair stands for one; an odd one escapes and goes too
    out += backslashes % 2 != 0 ? std::string(reference) : variable_value(reference, lookup);
    backslashes = 0;
    i = end;
  }
  return out;
}

bool is_section(std::string_view line) {
  if (line.empty() || line.front() != '[') return false;
  const std::size_t close = line.find(']');
  return close != std::string_view::npos && trimmed(line.substr(close + 1)).empty();
}

std::optional<NpmrcEntry> parse_line(std::string_view line, const VariableLookup& lookup) {
  const std::string_view text = trimmed(line);
  if (text.empty() || text.front() == ';' || text.front() == '#') return std::nullopt;
  const std::size_t equals = line.find('=');
  if (equals == 0) return std::nullopt;
  NpmrcEntry entry;
  entry.key = expand(plain(line.substr(0, equals)), lookup);
  if (entry.key == "__proto__") return std::nullopt;
  entry.value = equals == std::string_view::npos ? "true" : expand(trimmed(plain(line.substr(equals + 1))), lookup);
  return entry;
}

}  // namespace

std::vector<NpmrcEntry> parse_npmrc(std::string_view bytes, const VariableLookup& lookup) {
  std::vector<NpmrcEntry> entries;
  bytes = json::without_bom(bytes);
  int number = 0;
  while (!bytes.empty()) {
    ++number;
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view line = bytes.substr(0, end);
    if (is_section(line)) break;  // everything after belongs to some section
    if (auto entry = parse_line(line, lookup)) {
      entry->line = number;
      entries.push_back(*std::move(entry));
    }
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + (bytes.substr(end, 2) == "\r\n" ? 2 : 1));
  }
  return entries;
}

}  // namespace pfnm
