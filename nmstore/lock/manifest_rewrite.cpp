#include <array>
#include <nlohmann/json.hpp>

#include "nmstore/lock/json_fields.hpp"
#include "nmstore/lock/package_manifest.hpp"

namespace pfnm {

Result<std::string> without_lifecycle_scripts(std::string_view bytes, std::string_view shown_path) {
  // The other reader goes first: it has the better errors, and its limit on nesting protects the writer's recursion.
  PFNM_TRY(parse_package_manifest(bytes, shown_path));
  using Json = nlohmann::ordered_json;
  Json document = Json::parse(json::without_bom(bytes), nullptr, false);
  if (document.is_discarded() || !document.is_object())
    return fail(json::not_json("use the manifest", shown_path, bytes, "it cannot be written again"));
  static constexpr std::array<const char*, 10> k_lifecycle{
      "preinstall", "install",     "postinstall",     "prepublish",   "preprepare",
      "prepare",    "postprepare", "predependencies", "dependencies", "postdependencies"};
  auto scripts = document.find("scripts");
  if (scripts != document.end() && scripts->is_object()) {
    for (const char* name : k_lifecycle) scripts->erase(name);
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pfnm
