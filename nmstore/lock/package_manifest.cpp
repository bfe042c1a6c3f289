#include "nmstore/lock/package_manifest.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "nmstore/lock/json_fields.hpp"

namespace pfnm {

namespace dom = simdjson::dom;

namespace {

std::string canonical_policy(const dom::element& value) {
  if (value.is_null()) return {};
  std::string text = json::canonical(value);
  return text == "{}" || text == "[]" ? std::string() : text;
}

bool names_something(const dom::element& value) {
  bool all = false;
  dom::array names;
  dom::object object;
  if (value.get(all) == simdjson::SUCCESS) return all;
  if (value.get(names) == simdjson::SUCCESS) return names.size() > 0;
  return value.get(object) == simdjson::SUCCESS && object.size() > 0;
}

struct MapField {
  std::string_view key;
  DependencyMap PackageManifest::*member;
};
constexpr std::array<MapField, 5> k_map_fields{{{"scripts", &PackageManifest::scripts},
                                                {"dependencies", &PackageManifest::dependencies},
                                                {"devDependencies", &PackageManifest::dev_dependencies},
                                                {"optionalDependencies", &PackageManifest::optional_dependencies},
                                                {"peerDependencies", &PackageManifest::peer_dependencies}}};

void read_field(PackageManifest& manifest, std::string_view key, const dom::element& value) {
  for (const MapField& field : k_map_fields) {
    if (key == field.key) manifest.*(field.member) = json::text_members(value);
  }
  if (key == "name") manifest.name = json::text(value);
  if (key == "version") manifest.version = json::text(value);
  if (key == "workspaces") manifest.workspaces = json::workspace_globs(value);
  if (key == "allowScripts") manifest.allow_scripts = canonical_policy(value);
  if (key == "overrides") manifest.overrides = canonical_policy(value);
  if (key == "bundleDependencies" || key == "bundledDependencies")
    manifest.has_bundle_dependencies = names_something(value);
}

}  // namespace

Result<PackageManifest> parse_package_manifest(std::string_view bytes, std::string_view shown_path) {
  constexpr std::string_view k_operation = "use the manifest";
  dom::parser parser;
  const simdjson::padded_string text(json::without_bom(bytes));
  dom::element document;
  if (const auto error = parser.parse(text).get(document); error != simdjson::SUCCESS)
    return fail(json::not_json(k_operation, shown_path, bytes, simdjson::error_message(error)));
  dom::object top;
  if (document.get(top) != simdjson::SUCCESS)
    return fail(Error::make(Errc::bad_input, k_operation, shown_path, "it is not a JSON object"));
  PackageManifest manifest;
  std::optional<dom::element> bin;
  for (const auto field : top) {
    read_field(manifest, field.key, field.value);
    if (field.key == "bin") bin = field.value;
  }
  if (bin) manifest.bin = json::bins(*bin, manifest.name);
  return manifest;
}

std::vector<std::pair<std::string, std::string>> lifecycle_scripts(const PackageManifest& manifest) {
  static constexpr std::array<std::string_view, 10> k_order{
      "predependencies", "dependencies", "postdependencies", "preinstall", "install",
      "postinstall",     "prepublish",   "preprepare",       "prepare",    "postprepare"};
  std::vector<std::pair<std::string, std::string>> present;
  for (const std::string_view name : k_order) {
    auto found = std::find_if(manifest.scripts.begin(), manifest.scripts.end(),
                              [&](const auto& script) { return script.first == name; });
    if (found != manifest.scripts.end() && !found->second.empty()) present.push_back(*found);
  }
  return present;
}

}  // namespace pfnm
