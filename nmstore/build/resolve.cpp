#include "nmstore/build/resolve.hpp"

#include <fcntl.h>

#include <algorithm>
#include <set>

#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

// Reads inputs once and remembers them in the order they were asked for.
class InputReader {
 public:
  explicit InputReader(const std::string& project) : project_(project) {}

  // The content, or nothing where it is absent.
  Result<std::optional<std::string>> read(const std::string& path) {
    std::string content;
    PFNM_TRY_ASSIGN(const Input input, survey_input(project_, path, &content));
    remember(input);
    if (input.kind == InputKind::absent) return std::optional<std::string>{};
    if (input.kind == InputKind::directory)
      return fail(Error::make(Errc::bad_input, "read", project_ + "/" + path, "it is a directory"));
    return std::optional<std::string>{std::move(content)};
  }

  // A directory with all it holds, as one digest.
  Result<std::optional<Digest>> read_tree(const std::string& path) {
    Hasher hasher;
    PFNM_TRY_ASSIGN(const bool present, add_tree(path, hasher));
    if (!present) return std::optional<Digest>{};
    return std::optional<Digest>{hasher.finish()};
  }

  Status note(const std::string& path) {
    PFNM_TRY_ASSIGN(const Input input, survey_input(project_, path));
    remember(input);
    return {};
  }

  [[nodiscard]] const std::vector<Input>& inputs() const { return inputs_; }

 private:
  void remember(const Input& input) {
    if (seen_.insert(input.path).second) inputs_.push_back(input);
  }

  Result<bool> add_tree(const std::string& path, Hasher& hasher) {
    PFNM_TRY_ASSIGN(const Input input, survey_input(project_, path));
    remember(input);
    if (input.kind == InputKind::absent) return false;
    hasher.update_field(path);
    hasher.update_field(input.digest.to_hex());
    if (input.kind != InputKind::directory) return true;
    PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, project_ + "/" + path));
    for (const DirEntry& entry : entries) {
      if (entry.name == "node_modules" || entry.name == ".git") continue;
      PFNM_TRY_ASSIGN(const bool present, add_tree(path + "/" + entry.name, hasher));
      std::ignore = present;  // a file that vanished meanwhile is an absent input: it will be noticed
    }
    return true;
  }

  const std::string& project_;
  std::vector<Input> inputs_;
  std::set<std::string> seen_;
};

// The variables that "${NAME}" in an npmrc was looked up as.
struct VariableUse {
  const std::vector<std::string>& environment;
  std::vector<std::string>& names;
  std::optional<std::string> operator()(std::string_view name) const {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
    for (const std::string& entry : environment)
      if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
        return entry.substr(name.size() + 1);
    return std::nullopt;
  }
};

Status refuse_program_keys(const std::string& path, const std::vector<NpmrcEntry>& project) {
  const auto keys = program_keys(project);
  if (keys.empty()) return {};
  return fail(Error::make(Errc::bad_input, "build with", path,
                          "line " + std::to_string(keys.front().line) + " sets " + keys.front().key +
                              ", which names a program or its options",
                          "move it to your own ~/.npmrc if you trust it"));
}

Result<TreeConfig> survey_npm_config(const ResolveContext& context, const Project& project, InputReader& reader,
                                     Resolution& out) {
  const VariableUse lookup{context.environment, out.npmrc_variables};
  std::vector<std::vector<NpmrcEntry>> layers;
  const ToolchainFacts& facts = out.toolchain;
  for (const std::string& path : {facts.builtin_npmrc, facts.global_npmrc, facts.user_npmrc}) {
    if (path.empty()) continue;
    PFNM_TRY_ASSIGN(const auto text, reader.read(path));
    if (text) layers.push_back(parse_npmrc(*text, lookup));
  }
  PFNM_TRY_ASSIGN(const auto own, reader.read(".npmrc"));
  if (own) {
    layers.push_back(parse_npmrc(*own, lookup));
    PFNM_TRY(refuse_program_keys(project.root + "/.npmrc", layers.back()));
    out.npmrc = sha256(*own);
    out.files.push_back({".npmrc", *own});
  }
  return tree_changing_config(layers);
}

std::string joined_names(const std::vector<std::pair<std::string, std::string>>& scripts) {
  std::string names;
  for (const auto& [name, command] : scripts) names += (names.empty() ? "" : " ") + name;
  return names;
}

// Stages a manifest without its lifecycle scripts and returns it parsed.
Result<std::optional<PackageManifest>> take_manifest(InputReader& reader, const std::string& directory,
                                                     const std::string& root, Resolution& out) {
  const std::string path = directory.empty() ? "package.json" : directory + "/package.json";
  PFNM_TRY_ASSIGN(const auto text, reader.read(path));
  if (!text) return std::optional<PackageManifest>{};
  const std::string shown = root + "/" + path;
  PFNM_TRY_ASSIGN(PackageManifest manifest, parse_package_manifest(*text, shown));
  PFNM_TRY_ASSIGN(std::string stripped, without_lifecycle_scripts(*text, shown));
  out.files.push_back({path, std::move(stripped)});
  if (const auto scripts = lifecycle_scripts(manifest); !scripts.empty())
    out.not_run.emplace_back(directory.empty() ? "." : directory, joined_names(scripts));
  return std::optional<PackageManifest>{std::move(manifest)};
}

std::string patch_directory(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--patch-dir" && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].starts_with("--patch-dir=")) return arguments[i].substr(12);
  }
  return "patches";
}

Status take_patches(InputReader& reader, const Project& project, Resolution& out, KeyInputs& key) {
  // With ignore-scripts npm would not run the script that calls it either.
  const bool ignored = std::any_of(key.config.differing.begin(), key.config.differing.end(), [](const auto& setting) {
    return setting.first == "ignore-scripts" && setting.second == "true";
  });
  if (!ignored) out.patch_package = find_patch_package_call(out.root);
  if (!out.patch_package) return {};
  const std::string directory = patch_directory(*out.patch_package);
  if (directory.starts_with('/') || directory.find("..") != std::string::npos) {
    return fail(Error::make(Errc::bad_input, "apply the patches of", project.root,
                            "patch-package's --patch-dir \"" + directory + "\" leaves the project"));
  }
  PFNM_TRY_ASSIGN(key.patches, reader.read_tree(directory));
  if (key.patches) out.file_trees.push_back(directory);
  return {};
}

Status take_file_sources(InputReader& reader, const Project& project, Resolution& out, KeyInputs& key) {
  std::vector<std::string> paths = local_tarballs(out.lock);
  for (std::string& path : install_links_directories(out.lock)) paths.push_back(std::move(path));
  for (const std::string& path : paths) {
    PFNM_TRY_ASSIGN(const auto digest, reader.read_tree(path));
    if (!digest) {
      return fail(Error::make(Errc::bad_input, "build from", project.lock_path(),
                              "it names file:" + path + ", which is not there"));
    }
    key.file_sources.emplace_back(path, *digest);
    out.file_trees.push_back(path);
  }
  return {};
}

MemoScope memo_scope(const ResolveContext& context, const Project& project) {
  const std::string& top = project.worktree.root;
  return {project.worktree.common_dir, project.root == top ? "" : project.root.substr(top.size() + 1),
          context.programs.node, context.programs.npm, context.environment};
}

// The union with what an earlier resolution of the same lock noted: manifests that ask for different extra inputs then
// share one list instead of displacing each other's.
Result<InputsMemo> merged_inputs(const std::string& memo_path, InputReader& reader,
                                 const std::vector<std::string>& configs) {
  PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, memo_path));
  if (text) {
    const auto known = parse_inputs_memo(*text, memo_path);
    if (known.has_value())
      for (const std::string& path : known->inputs) PFNM_TRY(reader.note(path));
  }
  InputsMemo memo;
  for (const Input& input : reader.inputs()) memo.inputs.push_back(input.path);
  memo.configs = configs;
  return memo;
}

Status write_memos(const ResolveContext& context, InputReader& reader, Resolution& out,
                   const ResolvedSettings& settings, const Digest& lock_digest) {
  const Digest name = inputs_memo_name(memo_scope(context, out.project), lock_digest);
  const std::string memo_path = context.store.paths.memo("inputs", name.to_hex());
  PFNM_TRY_ASSIGN(const InputsMemo memo, merged_inputs(memo_path, reader, settings.config_files));
  out.record.inputs = reader.inputs();
  const bool remember =
      settings.cacheable == ResolvedSettings::Cacheable::yes && out.toolchain.shim == Shim::no;
  if (!remember) return {};
  PFNM_TRY(context.fs.write_file(AT_FDCWD, memo_path, render_inputs_memo(memo), 0600));
  const KeyMemo key{out.install, out.report.fingerprint, settings.layout, settings.default_layout};
  const Digest key_name = key_memo_name(name, out.record.inputs, out.record.configs);
  return context.fs.write_file(AT_FDCWD, context.store.paths.memo("key", key_name.to_hex()), render_key_memo(key),
                               0600);
}

Status take_lock(InputReader& reader, const Project& project, Resolution& out, Digest& raw_digest,
                 Digest& lock_digest) {
  PFNM_TRY_ASSIGN(const auto text, reader.read(project.lock_name));
  if (!text) return fail(Error::make(Errc::bad_input, "read", project.lock_path(), "it is not there any more"));
  // The absence of the one npm would prefer is part of the answer.
  if (project.lock_name != "npm-shrinkwrap.json") PFNM_TRY(reader.note("npm-shrinkwrap.json"));
  PFNM_TRY_ASSIGN(out.lock, parse_npm_lock(*text, project.lock_path()));
  out.files.push_back({project.lock_name, *text});
  raw_digest = sha256(*text);
  lock_digest = sha256_text(*text);
  return {};
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const auto slash = path.find('/');
    if (slash != 0 && path.substr(0, slash) != ".") parts.emplace_back(path.substr(0, slash));
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  return parts;
}

// Directories with a package.json that a pattern of `workspaces` names. Only literal components and "*": a pattern that
// is cleverer than that is npm's to judge, when it builds.
class WorkspaceSearch {
 public:
  WorkspaceSearch(const std::string& root, InputReader& reader) : root_(root), reader_(reader) {}

  Status search(const std::string& pattern) {
    const auto parts = split_path(pattern);
    for (const std::string& part : parts)
      if (part == ".." || (part != "*" && part.find_first_of("*?[]{}()!+@") != std::string::npos && part[0] != '@'))
        return {};
    return descend("", parts, 0);
  }
  [[nodiscard]] const std::vector<std::string>& found() const { return found_; }

 private:
  Status descend(const std::string& path, const std::vector<std::string>& parts, std::size_t at) {
    if (at == parts.size()) {
      PFNM_TRY_ASSIGN(const auto manifest, find_stat(AT_FDCWD, root_ + "/" + path + "/package.json"));
      if (manifest) found_.push_back(path);
      return {};
    }
    const std::string prefix = path.empty() ? "" : path + "/";
    if (parts[at] != "*") return descend(prefix + parts[at], parts, at + 1);
    // A directory that appears here later is a change of the inputs.
    PFNM_TRY(reader_.note(path.empty() ? "." : path));
    const auto entries = list_dir_at(AT_FDCWD, root_ + "/" + path);
    if (!entries.has_value()) return {};  // there is none: so there are no workspaces in it
    for (const DirEntry& entry : *entries) {
      const bool candidate = entry.type == FileType::directory && entry.name[0] != '.' && entry.name != "node_modules";
      if (candidate) PFNM_TRY(descend(prefix + entry.name, parts, at + 1));
    }
    return {};
  }

  const std::string& root_;
  InputReader& reader_;
  std::vector<std::string> found_;
};

// A workspace that the lock does not have: npm ci refuses, and a layout without it would be wrong without saying so.
Status check_workspaces(InputReader& reader, const Project& project, const Resolution& out) {
  if (out.lock.root() == nullptr) return {};
  WorkspaceSearch search(project.root, reader);
  for (const std::string& pattern : out.root.workspaces) {
    if (pattern.starts_with('!')) return {};  // takes some away again: npm's to judge
    PFNM_TRY(search.search(pattern));
  }
  for (const std::string& directory : search.found()) {
    if (out.lock.find(directory) != nullptr) continue;
    return fail(Error::make(Errc::bad_input, "use", project.lock_path(),
                            "it does not have the workspace " + directory, "npm install brings the lock up to date"));
  }
  return {};
}

Status take_manifests(InputReader& reader, const Project& project, Resolution& out, KeyInputs& key) {
  PFNM_TRY_ASSIGN(auto root, take_manifest(reader, "", project.root, out));
  if (!root) {
    return fail(Error::make(Errc::bad_input, "read", project.root + "/package.json", "it is not there",
                            "a lock without a package.json cannot be installed"));
  }
  out.root = *root;
  key.root = std::move(*root);
  for (const std::string& directory : workspace_directories(out.lock)) {
    PFNM_TRY_ASSIGN(auto manifest, take_manifest(reader, directory, project.root, out));
    if (manifest) key.workspaces.emplace_back(directory, std::move(*manifest));
  }
  return check_workspaces(reader, project, out);
}

}  // namespace

Result<Resolution> resolve_install(const ResolveContext& context, const Project& project,
                                   const ResolvedSettings& settings) {
  Resolution out;
  out.project = project;
  InputReader reader(out.project.root);
  Digest raw_digest;
  Digest lock_digest;
  PFNM_TRY(take_lock(reader, project, out, raw_digest, lock_digest));
  PFNM_TRY_ASSIGN(out.toolchain,
                  survey_toolchain(context.fs, context.store, context.programs, project.root,
                                   npm_environment(context.environment, context.programs.node, {})));
  KeyInputs key{out.lock, lock_digest, out.toolchain.toolchain, {}, {}, {}, std::nullopt, {}};
  PFNM_TRY(take_manifests(reader, project, out, key));
  PFNM_TRY_ASSIGN(key.config, survey_npm_config(context, project, reader, out));
  PFNM_TRY(take_patches(reader, project, out, key));
  PFNM_TRY(take_file_sources(reader, project, out, key));
  PFNM_TRY(reader.note(".pfnmconfig"));
  out.config = key.config;
  out.patches = key.patches;
  out.file_sources = key.file_sources;
  out.report = compute_key(key);
  const auto name = InstallName::parse(out.report.key.text);
  if (!name) return fail(Error::make(Errc::io, "name the install of", project.lock_path(), out.report.key.text));
  out.install = *name;
  out.record.install = *name;
  out.record.fingerprint = out.report.fingerprint;
  out.record.store = context.store.paths.root();
  out.record.node = context.programs.node;
  out.record.npm = context.programs.npm;
  out.record.settings = settings.layout;
  for (const std::string& path : settings.config_files) {
    PFNM_TRY_ASSIGN(Input config, survey_input(project.root, path));
    out.record.configs.push_back(std::move(config));
  }
  PFNM_TRY(write_memos(context, reader, out, settings, raw_digest));
  return out;
}

}  // namespace pfnm
