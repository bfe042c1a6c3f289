#include "bench/support/synthetic.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>

namespace pfnm::bench {
namespace {

// The standard fixes this engine's output, unlike that of its distributions.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

std::string padded(std::size_t number) {
  std::string digits = std::to_string(number);
  return std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
}

std::string integrity_of(const std::string& path, const std::string& version) {
  constexpr std::string_view k_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::uint64_t seed = 14695981039346656037ULL;
  for (const char c : path + "@" + version) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  Dice dice(seed);
  std::string text = "sha512-";
  for (int i = 0; i < 85; ++i) text += k_letters[dice.below(k_letters.size())];
  return text + "A==";
}

std::string version_of(Dice& dice) {
  return std::to_string(dice.below(20)) + "." + std::to_string(dice.below(30)) + "." + std::to_string(dice.below(40));
}

// Of every 20 packages: three have a scope, two lie inside another one.
std::vector<SyntheticPackage> draw_packages(const SyntheticOptions& options, Dice& dice) {
  std::vector<SyntheticPackage> packages;
  for (std::size_t i = 0; i < options.packages; ++i) {
    SyntheticPackage package;
    package.name = "p" + padded(i);
    const std::size_t form = dice.below(20);
    if (form < 3) package.name = "@scope" + std::to_string(dice.below(8)) + "/" + package.name;
    package.version = version_of(dice);
    package.path = "node_modules/" + package.name;
    if (form >= 18 && i > 0) {
      const SyntheticPackage& outer = packages[dice.below(i)];
      package.path = outer.path + "/node_modules/" + package.name;
    }
    package.has_bin = dice.one_in(12) && package.name.front() != '@';
    const std::size_t wanted = std::min<std::size_t>(i, dice.below(6));
    std::set<std::string> names;
    while (names.size() < wanted) names.insert(packages[dice.below(i)].name);
    package.dependencies.assign(names.begin(), names.end());
    packages.push_back(std::move(package));
  }
  return packages;
}

// Spread over the lock; names that others depend on or lie in stay, so that the lock stays whole.
void change_some(std::vector<SyntheticPackage>& packages, std::size_t changed) {
  if (changed == 0) return;
  const std::size_t step = std::max<std::size_t>(1, packages.size() / changed);
  std::set<std::string> needed;
  for (const SyntheticPackage& package : packages) {
    needed.insert(package.dependencies.begin(), package.dependencies.end());
    if (const auto inner = package.path.rfind("/node_modules/"); inner != std::string::npos)
      needed.insert(package.path.substr(13, inner - 13));
  }
  std::size_t done = 0;
  for (std::size_t i = 0; i < packages.size() && done < changed; ++i) {
    if (i / step < done) continue;
    SyntheticPackage& package = packages[i];
    const bool rename = done % 2 == 0;
    if (rename && needed.contains(package.name)) continue;  // the next one, then
    if (rename) {
      package.path += "-next";
      package.name += "-next";
    } else {
      package.version += "1";
    }
    ++done;
  }
}

void append_map(std::string& out, std::string_view field, const std::vector<std::string>& names) {
  if (names.empty()) return;
  out += ",\n      \"" + std::string(field) + "\": {";
  for (std::size_t i = 0; i < names.size(); ++i)
    out += std::string(i == 0 ? "\n" : ",\n") + "        \"" + names[i] + "\": \"*\"";
  out += "\n      }";
}

std::string bare(std::string_view name) { return std::string(name.substr(name.find('/') + 1)); }

void append_package(std::string& out, const SyntheticPackage& package) {
  out += "    \"" + package.path + "\": {\n      \"version\": \"" + package.version + "\"";
  out += ",\n      \"resolved\": \"https://registry.invalid/" + package.name + "/-/" + bare(package.name) + "-" +
         package.version + ".tgz\"";
  out += ",\n      \"integrity\": \"" + integrity_of(package.path, package.version) + "\"";
  out += ",\n      \"license\": \"MIT\"";
  append_map(out, "dependencies", package.dependencies);
  if (package.has_bin) out += ",\n      \"bin\": {\n        \"" + package.name + "\": \"bin.js\"\n      }";
  out += ",\n      \"engines\": {\n        \"node\": \">=18\"\n      }\n    }";
}

// Value of `      "field": "value",`.
std::string_view quoted_value(std::string_view line) {
  const auto colon = line.find("\": \"");
  const auto end = line.rfind('"');
  return colon == std::string_view::npos || end <= colon + 4 ? std::string_view{}
                                                             : line.substr(colon + 4, end - colon - 4);
}

template <typename Use>
void each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const auto newline = text.find('\n');
    use(text.substr(0, newline));
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
  }
}

}  // namespace

SyntheticProject make_synthetic(const SyntheticOptions& options) {
  Dice dice(options.seed);
  SyntheticProject project{options, draw_packages(options, dice), {}};
  change_some(project.packages, options.changed);
  for (std::size_t i = 0; i < options.workspaces && i < project.packages.size(); ++i)
    project.packages[project.packages.size() - 1 - i].dependencies.emplace_back("w0");
  for (const SyntheticPackage& package : project.packages)
    if (package.path == "node_modules/" + package.name) project.direct.push_back(package.name);
  std::sort(project.direct.begin(), project.direct.end());
  return project;
}

std::string render_lock(const SyntheticProject& project) {
  std::string out =
      "{\n  \"name\": \"bench\",\n  \"version\": \"1.0.0\",\n  \"lockfileVersion\": 3,\n"
      "  \"requires\": true,\n  \"packages\": {\n    \"\": {\n      \"name\": \"bench\",\n"
      "      \"version\": \"1.0.0\"";
  if (project.options.workspaces > 0) out += ",\n      \"workspaces\": [\n        \"packages/*\"\n      ]";
  append_map(out, "dependencies", project.direct);
  out += "\n    }";
  for (std::size_t i = 0; i < project.options.workspaces; ++i) {
    const std::string name = "w" + std::to_string(i);
    out += ",\n    \"node_modules/" + name + "\": {\n      \"resolved\": \"packages/" + name +
           "\",\n      \"link\": true\n    }";
    out += ",\n    \"packages/" + name + "\": {\n      \"version\": \"1.0.0\"\n    }";
  }
  for (const SyntheticPackage& package : project.packages) {
    out += ",\n";
    append_package(out, package);
  }
  return out + "\n  }\n}\n";
}

std::string render_manifest_json(const SyntheticProject& project) {
  std::string out = "{\n  \"name\": \"bench\",\n  \"version\": \"1.0.0\",\n  \"private\": true";
  if (project.options.workspaces > 0) out += ",\n  \"workspaces\": [\"packages/*\"]";
  out += ",\n  \"dependencies\": {";
  for (std::size_t i = 0; i < project.direct.size(); ++i)
    out += std::string(i == 0 ? "\n" : ",\n") + "    \"" + project.direct[i] + "\": \"*\"";
  return out + "\n  }\n}\n";
}

std::string render_workspace_json(std::size_t number) {
  return "{\"name\": \"w" + std::to_string(number) + "\", \"version\": \"1.0.0\"}\n";
}

std::vector<LockLine> scan_lock(std::string_view lock) {
  std::vector<LockLine> found;
  each_line(lock, [&](std::string_view line) {
    if (line.starts_with("    \"node_modules/")) {
      const auto end = line.find('"', 5);
      found.push_back({std::string(line.substr(5, end - 5)), {}, false});
    } else if (!found.empty() && line.starts_with("      \"version\": ")) {
      found.back().version = quoted_value(line);
    } else if (!found.empty() && line.starts_with("      \"bin\": ")) {
      found.back().has_bin = true;
    }
  });
  return found;
}

std::string hidden_lock(std::string_view lock) {
  std::string out;
  bool in_root = false;
  each_line(lock, [&](std::string_view line) {
    if (line == "    \"\": {") in_root = true;
    if (!in_root) out.append(line).append("\n");
    if (line.starts_with("    }")) in_root = false;
  });
  return out;
}

}  // namespace pfnm::bench
