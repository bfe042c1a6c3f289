#include "nmstore/lock/semver_text.hpp"

#include <algorithm>

namespace pfnm::semver_text {

namespace {

constexpr std::string_view k_space = " \t\n\v\f\r";

}  // namespace

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_identifier(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; }

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(k_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(k_space) - first + 1);
}

std::string collapse_spaces(std::string_view text) {
  std::string out;
  for (const char c : trimmed(text)) {
    const bool space = k_space.find(c) != std::string_view::npos;
    if (!space) {
      out += c;
    } else if (out.back() != ' ') {
      out += ' ';
    }
  }
  return out;
}

std::string strip_build_metadata(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '+' || i + 1 == text.size() || !is_identifier(text[i + 1])) {
      out += text[i];
      continue;
    }
    while (i + 1 < text.size() &&
           (is_identifier(text[i + 1]) || (text[i + 1] == '.' && i + 2 < text.size() && is_identifier(text[i + 2]))))
      ++i;
  }
  return out;
}

std::string close_up_comparisons(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] != '<' && text[i] != '>' && text[i] != '=') continue;
    if (text[i] != '=' && i + 1 < text.size() && text[i + 1] == '=') out += text[++i];
    const std::size_t next = text.find_first_not_of(' ', i + 1);
    if (next == std::string_view::npos) continue;
    const std::size_t version = std::min(text.find_first_not_of("v= ", next), text.size());
    if (version == text.size() || (!is_digit(text[version]) && text[version] != '*' && (text[version] | 32) != 'x'))
      continue;  // the operator belongs to no version
    out.append(text.substr(next, version - next));
    i = version - 1;
  }
  return out;
}

std::string close_up_prefixes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] != '~' && text[i] != '^') continue;
    const std::size_t after = i + (text[i] == '~' && text.substr(i + 1, 1) == ">" ? 2 : 1);
    if (text.substr(after, 1) == " ") i = after;  // there is one space at most
  }
  return out;
}

}  // namespace pfnm::semver_text
