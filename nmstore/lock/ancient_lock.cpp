#include <simdjson.h>

#include "nmstore/lock/json_fields.hpp"
#include "nmstore/lock/lock_entry.hpp"
#include "nmstore/lock/lock_paths.hpp"

namespace pfnm::lock_detail {

namespace dom = simdjson::dom;

namespace {

// A file: dependency of npm 6 is recorded as its version.
std::optional<Error> check_addresses(const dom::object& package, std::string_view shown, std::string_view shown_path) {
  for (const auto field : package) {
    if (field.key != "version" && field.key != "resolved") continue;
    const auto address = lock_path::file_address(json::text(field.value));
    if (address && !lock_path::inside_project(*address))
      return bad_entry(shown_path, shown, "comes from \"file:" + *address + "\", which leaves the project");
  }
  return std::nullopt;
}

// The parser limits nesting to 1024, hence recursion here too.
Result<std::size_t> check_level(const dom::element& dependencies, const std::string& parent,
                                std::string_view shown_path) {
  dom::object level;
  if (dependencies.get(level) != simdjson::SUCCESS)
    return fail(bad_entry(shown_path, parent, "has \"dependencies\" that are not an object"));
  if (auto twice = json::duplicate_key(level))
    return fail(bad_entry(shown_path, parent, "has the dependency \"" + *twice + "\" twice"));
  std::size_t count = 0;
  for (const auto field : level) {
    const std::string key = parent + (parent.empty() ? "" : "/") + "node_modules/" + std::string(field.key);
    if (auto problem = lock_path::key_problem(key)) return fail(bad_entry(shown_path, key, *problem));
    dom::object package;
    if (field.value.get(package) != simdjson::SUCCESS) return fail(bad_entry(shown_path, key, "is not an object"));
    if (auto twice = json::duplicate_key(package))
      return fail(bad_entry(shown_path, key, "has the key \"" + *twice + "\" twice"));
    if (auto error = check_addresses(package, key, shown_path)) return fail(*error);
    ++count;
    dom::element nested;
    if (package["dependencies"].get(nested) == simdjson::SUCCESS) {
      PFNM_TRY_ASSIGN(const std::size_t below, check_level(nested, key, shown_path));
      count += below;
    }
  }
  return count;
}

}  // namespace

Result<std::size_t> check_ancient_tree(const dom::element& dependencies, std::string_view shown_path) {
  return check_level(dependencies, "", shown_path);
}

}  // namespace pfnm::lock_detail
