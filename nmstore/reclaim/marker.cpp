#include "nmstore/reclaim/marker.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool is_suffix(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

bool is_absent(const Error& error) { return error.sys_errno == ENOENT || error.sys_errno == ENOTDIR; }

Marker unreadable(const Error& error) {
  Marker marker;
  marker.state = Marker::State::unreadable;
  marker.why = error.reason.empty() ? std::strerror(error.sys_errno) : error.reason;
  return marker;
}

Marker named(std::vector<std::string> keys, Marker::Match match) {
  Marker marker;
  marker.state = keys.empty() ? Marker::State::none : Marker::State::names;
  marker.keys = std::move(keys);
  marker.match = match;
  return marker;
}

// A link to an install, ours or an older helper's: whatever store it is reached through, the last component is the key.
Marker marker_from_target(const std::string& target) {
  const std::string name = target.substr(target.find_last_of('/') + 1);
  if (InstallName::parse(name)) return named({name}, Marker::Match::exact);
  return named(keys_in(target), Marker::Match::same_lock);
}

Marker marker_from_hop(const std::string& directory) {
  const auto hop = read_link_at(AT_FDCWD, directory + "/" + k_hop);
  if (hop.has_value()) return marker_from_target(*hop);
  if (is_absent(hop.error())) return Marker{};
  if (hop.error().sys_errno == EINVAL) return Marker{};  // something that is no link
  return unreadable(hop.error());
}

Marker marker_from_file(const std::string& path) {
  const auto text = find_file(AT_FDCWD, path);
  if (!text.has_value()) return unreadable(text.error());
  return *text ? named(keys_in(**text), Marker::Match::same_lock) : Marker{};  // guard:plain-file
}

// A directory that is a link or a mount that went away is not "nothing there".
Marker marker_of_nothing(const std::string& directory) {
  const auto st = find_stat(AT_FDCWD, directory);
  if (!st.has_value()) return unreadable(st.error());
  Marker marker;
  if (!*st) return marker;
  marker.changed_at = (*st)->mtime_ns / 1'000'000'000LL;
  if (!(*st)->is_symlink()) return marker;
  const auto real = real_path(directory);
  if (real.has_value()) return marker;
  return unreadable(real.error());
}

}  // namespace

bool Marker::matches(const InstallName& name) const {
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return match == Match::exact ? name.text == key : name.text.starts_with(key.substr(0, 64));
  });
}

Marker read_marker(const std::string& directory) {
  const std::string path = directory + "/" + k_marker;
  const auto st = find_stat(AT_FDCWD, path);
  if (!st.has_value()) return unreadable(st.error());
  Marker marker;
  if (*st && (*st)->is_symlink()) {
    const auto target = read_link_at(AT_FDCWD, path);
    if (!target.has_value() && !is_absent(target.error())) return unreadable(target.error());
    if (target.has_value() && *target != k_hop) marker = marker_from_target(*target);
  } else if (*st && (*st)->is_regular()) {
    marker = marker_from_file(path);
  }
  if (marker.state != Marker::State::none) return marker;
  marker = marker_from_hop(directory);
  return marker.state == Marker::State::none ? marker_of_nothing(directory) : marker;
}

std::vector<std::string> keys_in(std::string_view text) {
  std::vector<std::string> keys;
  std::size_t start = 0;
  while (start < text.size()) {
    std::size_t end = start;
    while (end < text.size() && is_hex(text[end])) ++end;
    if (end - start < 64) {
      start = end + 1;
      continue;
    }
    std::size_t last = end;
    while (last < text.size() && is_suffix(text[last])) ++last;
    const std::string key(text.substr(end - 64, last - (end - 64)));
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    start = last;
  }
  return keys;
}

std::string_view key_in_path(std::string_view path) {
  constexpr std::string_view k_deleted = " (deleted)";  // as the kernel marks what has no name any more
  if (path.ends_with(k_deleted)) path.remove_suffix(k_deleted.size());
  std::size_t start = 0;
  while (start < path.size()) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view component = path.substr(start, end - start);
    const std::string_view before = path.substr(0, start);
    const bool of_store = before.ends_with("/.pf/leases/") || before.ends_with("/.pf/seals/");
    if (!of_store && InstallName::parse(component)) return component;
    start = end + 1;
  }
  return {};
}

}  // namespace pfnm
