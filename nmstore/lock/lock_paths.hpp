// Rules about the paths inside a lock; strings only, nothing touches a disk. Internal to nmstore/lock.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pfnm::lock_path {

// Why a key of `packages` cannot be used ("leaves the project", ...); nothing when it can. SPEC 2.8.
// Refused: absolute, `..`, `.`, empty component, backslash, NUL, a `.git` component, a package name that starts with a
// dot (it could take the place of node_modules/.bin or of our own marks), a node_modules or a scope without a name.
[[nodiscard]] std::optional<std::string> key_problem(std::string_view key);

enum class Place { root, outside_node_modules, in_node_modules };
[[nodiscard]] Place place_of(std::string_view key);

// The last component, with its scope if there is one (npm's name-from-folder).
[[nodiscard]] std::string name_of(std::string_view key);
// POSIX basename: trailing slashes do not count.
[[nodiscard]] std::string base_name(std::string_view path);
// path.join('/', path) without its leading slash: `..` cannot climb above the root.
[[nodiscard]] std::string below_root(std::string_view path);
// A relative path with `.` and `..` worked out ("" = the project itself); nothing when it is absolute or leaves it.
[[nodiscard]] std::optional<std::string> inside_project(std::string_view relative);

// The path of a "file:..." address, as npm wrote it ("%23" stands for "#"); nothing for any other address.
[[nodiscard]] std::optional<std::string> file_address(std::string_view resolved);
enum class FileKind { tarball, directory };
[[nodiscard]] FileKind file_kind(std::string_view path);  // by name, as npm-package-arg does

}  // namespace pfnm::lock_path
