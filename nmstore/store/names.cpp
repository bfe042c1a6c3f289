#include "nmstore/store/names.hpp"

#include <algorithm>

namespace pfnm {
namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool is_suffix(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

}  // namespace

std::optional<InstallName> InstallName::parse(std::string_view text) {
  if (text.size() < 64 || text.size() > 200) return std::nullopt;
  const std::string_view digest = text.substr(0, 64);
  const std::string_view suffix = text.substr(64);
  if (!std::all_of(digest.begin(), digest.end(), is_hex)) return std::nullopt;
  if (!suffix.empty() && (suffix.size() < 2 || suffix[0] != '-')) return std::nullopt;
  if (!std::all_of(suffix.begin(), suffix.end(), is_suffix)) return std::nullopt;
  return InstallName{std::string(text)};
}

}  // namespace pfnm
