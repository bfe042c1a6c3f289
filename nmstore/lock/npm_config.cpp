#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "nmstore/lock/npmrc.hpp"

namespace pfnm {

namespace {

// Values by key; one value unless the key was written as an array. A layer replaces what a lower one said.
using Settings = std::map<std::string, std::vector<std::string>>;

std::string base_key(std::string_view key) {
  if (key.size() > 2 && key.substr(key.size() - 2) == "[]") key.remove_suffix(2);
  return std::string(key);
}

Settings merge(const std::vector<std::vector<NpmrcEntry>>& layers) {
  Settings merged;
  for (const auto& layer : layers) {
    Settings own;
    std::set<std::string> arrays;  // once "key[]" was seen, "key" appends too (ini)
    for (const NpmrcEntry& entry : layer) {
      const std::string key = base_key(entry.key);
      if (key != entry.key) arrays.insert(key);
      auto& values = own[key];
      if (arrays.count(key) == 0) values.clear();
      values.push_back(entry.value);
    }
    for (auto& setting : own) merged[setting.first] = std::move(setting.second);
  }
  return merged;
}

const std::string* last_value(const Settings& settings, const std::string& key) {
  auto found = settings.find(key);
  return found == settings.end() || found->second.empty() ? nullptr : &found->second.back();
}

std::string joined(std::vector<std::string> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ",") + value;
  return text;
}

enum class Switch { unset, off, on };

// parse-field and nopt: "" is true, a number counts by its value, and any other word is true, "no" included.
Switch switch_value(const Settings& settings, const std::string& key) {
  const std::string* value = last_value(settings, key);
  if (value == nullptr || *value == "null" || *value == "undefined") return Switch::unset;
  if (*value == "false") return Switch::off;
  const bool zero = !value->empty() && value->find_first_not_of("0.") == std::string::npos && *value != ".";
  return zero ? Switch::off : Switch::on;
}

struct SwitchKey {
  const char* key;
  Switch by_default;
};
// prefer-dedupe, before and min-release-age act only where npm has to resolve, which npm ci still may.
constexpr std::array<SwitchKey, 15> k_switches{{
    {"bin-links", Switch::on},
    {"dangerously-allow-all-scripts", Switch::off},
    {"dry-run", Switch::off},
    {"engine-strict", Switch::off},
    {"force", Switch::off},
    {"global", Switch::off},
    {"ignore-scripts", Switch::off},
    {"include-workspace-root", Switch::off},
    {"install-links", Switch::off},
    {"legacy-peer-deps", Switch::off},
    {"package-lock-only", Switch::off},
    {"prefer-dedupe", Switch::off},
    {"rebuild-bundle", Switch::on},
    {"strict-allow-scripts", Switch::off},
    {"strict-peer-deps", Switch::off},
}};

// Listed whenever set. The allow- keys have other defaults in other npm majors, so that even a default's value says
// something. The last lines are not npm's own: npm hands them to install scripts (node-gyp, prebuild-install), which
// build for another runtime then.
constexpr std::array<const char*, 28> k_texts{
    "allow-directory",
    "allow-file",
    "allow-git",
    "allow-remote",
    "allow-scripts",
    "before",
    "cpu",
    "libc",
    "min-release-age",
    "min-release-age-exclude",
    "node-gyp",
    "node-options",
    "os",
    "script-shell",
    "workspace",
    "arch",
    "build-from-source",
    "build_from_source",
    "dist-url",
    "disturl",
    "platform",
    "runtime",
    "target",
    "target-arch",
    "target-platform",
    "target_arch",
    "target_platform",
    "devdir",
};

class Collector {
 public:
  explicit Collector(const Settings& settings) : settings_(settings) {}

  std::vector<std::pair<std::string, std::string>> collect() {
    for (const SwitchKey& entry : k_switches) add_switch(entry);
    for (const char* key : k_texts) add_text(key);
    add_lock_switch();
    add_strategy();
    add_omit();
    add_umask();
    add_workspaces();
    add_downloads();
    return {differing_.begin(), differing_.end()};
  }

 private:
  void add_switch(const SwitchKey& entry) {
    const Switch value = switch_value(settings_, entry.key);
    if (value != Switch::unset && value != entry.by_default)
      differing_[entry.key] = value == Switch::on ? "true" : "false";
  }

  void add_text(const std::string& key) {
    auto found = settings_.find(key);
    if (found == settings_.end()) return;
    const std::string value = joined(found->second);
    if (!value.empty() && value != "null") differing_[key] = value;
  }

  void add_lock_switch() {
    for (const char* key : {"package-lock", "shrinkwrap"}) {
      if (switch_value(settings_, key) == Switch::off) differing_["package-lock"] = "false";
    }
  }

  void add_strategy() {
    const std::string* written = last_value(settings_, "install-strategy");
    std::string strategy = written == nullptr ? "hoisted" : *written;
    if (switch_value(settings_, "global-style") == Switch::on) strategy = "shallow";
    if (switch_value(settings_, "legacy-bundling") == Switch::on) strategy = "nested";
    if (strategy != "hoisted" && strategy != "null") differing_["install-strategy"] = strategy;
  }

  // npm's buildOmitList.
  void add_omit() {
    std::set<std::string> omit = list("omit");
    std::set<std::string> include = list("include");
    const std::string* only = last_value(settings_, "only");
    const Switch production = switch_value(settings_, "production");
    if ((only != nullptr && (*only == "prod" || *only == "production")) || production == Switch::on)
      omit.insert("dev");
    else if (production == Switch::off)
      include.insert("dev");
    const std::string* also = last_value(settings_, "also");
    if (also != nullptr && also->rfind("dev", 0) == 0) include.insert("dev");
    if (switch_value(settings_, "dev") == Switch::on) include.insert("dev");
    const Switch optional = switch_value(settings_, "optional");
    if (optional == Switch::off) omit.insert("optional");
    if (optional == Switch::on) include.insert("optional");
    for (const std::string& kept : include) omit.erase(kept);
    if (!omit.empty()) differing_["omit"] = joined({omit.begin(), omit.end()});
  }

  std::set<std::string> list(const std::string& key) const {
    auto found = settings_.find(key);
    if (found == settings_.end()) return {};
    std::set<std::string> values(found->second.begin(), found->second.end());
    values.erase("null");
    values.erase("");
    return values;
  }

  // Builds run at umask 022, so npm's own umask matters only where it takes away more.
  void add_umask() {
    const std::string* value = last_value(settings_, "umask");
    if (value == nullptr || value->empty() || *value == "null") return;
    const bool octal = (*value)[0] == '0';
    unsigned mask = 0;
    for (const char c : *value) {
      if (c < '0' || c > (octal ? '7' : '9') || mask > 0777U) return;  // npm warns and uses its default
      mask = mask * (octal ? 8U : 10U) + static_cast<unsigned>(c - '0');
    }
    if ((mask & ~022U) != 0) differing_["umask"] = std::to_string(mask);
  }

  void add_workspaces() {
    const Switch value = switch_value(settings_, "workspaces");
    if (value != Switch::unset) differing_["workspaces"] = value == Switch::on ? "true" : "false";
  }

  // "electron_skip_binary_download" and its kind reach install scripts as npm_config_*, and what they then do not
  // fetch is missing in the tree.
  void add_downloads() {
    for (const auto& setting : settings_) {
      std::string lower = setting.first;
      for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      const bool skips = lower.find("skip") != std::string::npos && lower.find("download") != std::string::npos;
      if (skips) differing_[setting.first] = joined(setting.second);
    }
  }

  const Settings& settings_;
  std::map<std::string, std::string> differing_;
};

}  // namespace

TreeConfig tree_changing_config(const std::vector<std::vector<NpmrcEntry>>& layers) {
  const Settings settings = merge(layers);
  return TreeConfig{Collector(settings).collect()};
}

bool only_reaches_scripts(std::string_view key) {
  static constexpr std::array<std::string_view, 21> k_keys{
      "allow-scripts", "dangerously-allow-all-scripts", "ignore-scripts", "strict-allow-scripts", "node-gyp",
      "node-options",  "script-shell",  "arch",         "build-from-source", "build_from_source", "dist-url",
      "disturl",       "platform",      "runtime",      "target",            "target-arch",       "target-platform",
      "target_arch",   "target_platform", "devdir",     "rebuild-bundle"};
  if (std::find(k_keys.begin(), k_keys.end(), key) != k_keys.end()) return true;
  return key.find("download") != std::string_view::npos;
}

std::vector<NpmrcEntry> program_keys(const std::vector<NpmrcEntry>& project) {
  // Programs and shells npm or node-gyp starts; node-options and onload-script load code into node; nodedir and devdir
  // hold node's common.gypi, in which gyp runs commands; init-module is a script; userconfig and globalconfig would
  // bring in another file that may say all of these. Booleans such as git-tag-version name nothing. disturl is not
  // here, since every Electron project sets it: it is tree-changing configuration and needs approval as such.
  static constexpr std::array<std::string_view, 19> k_programs{
      "browser",     "call",         "devdir",       "editor",     "git",          "globalconfig", "init-module",
      "init.module", "make",         "msbuild-path", "node-gyp",   "node-options", "nodedir",      "onload-script",
      "python",      "script-shell", "shell",        "userconfig", "viewer"};
  std::vector<NpmrcEntry> offending;
  for (const NpmrcEntry& entry : project) {
    // npm exports an unknown node_gyp as npm_config_node_gyp, which is what the known node-gyp becomes too.
    std::string key = base_key(entry.key);
    for (char& c : key) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (std::find(k_programs.begin(), k_programs.end(), key) != k_programs.end()) offending.push_back(entry);
  }
  return offending;
}

}  // namespace pfnm
