#include "nmstore/lock/lock_paths.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace pfnm::lock_path {

namespace {

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_absolute(std::string_view path) {
  const bool drive = path.size() >= 2 && path[1] == ':' && std::isalpha(static_cast<unsigned char>(path[0])) != 0;
  return drive || (!path.empty() && path[0] == '/');
}

std::optional<std::string> component_problem(std::string_view component) {
  if (component.empty()) return "has an empty path component";
  if (component == "..") return "leaves the project";
  if (component == ".") return "has a \".\" component";
  // A case-insensitive file system would take .GIT for .git.
  if (lower(component) == ".git") return "is inside .git";
  return std::nullopt;
}

// What follows each node_modules has to be a package's name.
std::optional<std::string> package_problem(const std::vector<std::string_view>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] != "node_modules") continue;
    if (i + 1 == parts.size() || parts[i + 1] == "node_modules") return "names no package in node_modules";
    std::string_view name = parts[i + 1];
    if (name.front() == '@') {
      if (i + 2 == parts.size() || parts[i + 2] == "node_modules") return "names a scope without a package";
      name = parts[i + 2];
    }
    if (name.front() == '.') return "names a package that starts with a dot";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> key_problem(std::string_view key) {
  if (key.empty()) return std::nullopt;
  if (key.find('\0') != std::string_view::npos) return "has a NUL byte";
  if (key.find('\\') != std::string_view::npos) return "has a backslash";
  if (is_absolute(key)) return "is an absolute path";
  const std::vector<std::string_view> parts = components(key);
  for (const std::string_view part : parts) {
    if (auto problem = component_problem(part)) return problem;
  }
  return package_problem(parts);
}

Place place_of(std::string_view key) {
  if (key.empty()) return Place::root;
  const std::vector<std::string_view> parts = components(key);
  const bool inside = std::find(parts.begin(), parts.end(), "node_modules") != parts.end();
  return inside ? Place::in_node_modules : Place::outside_node_modules;
}

std::string name_of(std::string_view key) {
  const std::vector<std::string_view> parts = components(key);
  std::string name(parts.back());
  if (parts.size() > 1 && !parts[parts.size() - 2].empty() && parts[parts.size() - 2].front() == '@')
    name = std::string(parts[parts.size() - 2]) + '/' + name;
  return name;
}

std::string base_name(std::string_view path) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

namespace {

std::string join(const std::vector<std::string_view>& parts) {
  std::string joined;
  for (const std::string_view part : parts) {
    if (!joined.empty()) joined += '/';
    joined += part;
  }
  return joined;
}

}  // namespace

std::string below_root(std::string_view path) {
  std::vector<std::string_view> kept;
  for (const std::string_view part : components(path)) {
    if (part == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (!part.empty() && part != ".") {
      kept.push_back(part);
    }
  }
  std::string joined = join(kept);
  if (!joined.empty() && path.back() == '/') joined += '/';  // path.join keeps it
  return joined;
}

std::optional<std::string> inside_project(std::string_view relative) {
  if (is_absolute(relative) || relative.find('\0') != std::string_view::npos) return std::nullopt;
  std::vector<std::string_view> kept;
  for (const std::string_view part : components(relative)) {
    if (part == "..") {
      if (kept.empty()) return std::nullopt;
      kept.pop_back();
    } else if (!part.empty() && part != ".") {
      kept.push_back(part);
    }
  }
  return join(kept);
}

std::optional<std::string> file_address(std::string_view resolved) {
  constexpr std::string_view k_scheme = "file:";
  if (resolved.substr(0, k_scheme.size()) != k_scheme) return std::nullopt;
  std::string path(resolved.substr(k_scheme.size()));
  for (std::size_t at = path.find("%23"); at != std::string::npos; at = path.find("%23", at + 1))
    path.replace(at, 3, "#");
  return path;
}

FileKind file_kind(std::string_view path) {
  const std::string name = lower(path);
  for (const std::string_view suffix : std::array<std::string_view, 3>{".tgz", ".tar.gz", ".tar"}) {
    if (name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0)
      return FileKind::tarball;
  }
  return FileKind::directory;
}

}  // namespace pfnm::lock_path
