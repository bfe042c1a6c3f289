#include "nmstore/build/npm_builder.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "nmstore/build/layout_lock.hpp"
#include "nmstore/build/trust.hpp"
#include "nmstore/platform/process.hpp"
#include "nmstore/platform/read.hpp"

namespace pfnm {
namespace {

Status copy_plain_tree(const Fs& fs, const std::string& from, const std::string& to) {
  PFNM_TRY_ASSIGN(const FileStat st, stat_at(AT_FDCWD, from));
  switch (st.type()) {
    case FileType::regular: {
      auto copied = fs.copy_file(AT_FDCWD, from, AT_FDCWD, to, (st.mode & 0777U) | 0600U);
      if (!copied.has_value()) return fail(copied.error());
      return {};
    }
    case FileType::symlink: {
      PFNM_TRY_ASSIGN(const std::string link, read_link_at(AT_FDCWD, from));
      return fs.make_symlink(link, AT_FDCWD, to);
    }
    case FileType::other:
      return fail(Error::make(Errc::unsupported, "copy", from, "it is neither a file nor a directory"));
    case FileType::directory:
      break;
  }
  PFNM_TRY(fs.ensure_dirs(to));
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, from));
  for (const DirEntry& entry : entries) {
    if (entry.name == "node_modules" || entry.name == ".git") continue;
    PFNM_TRY(copy_plain_tree(fs, from + "/" + entry.name, to + "/" + entry.name));
  }
  return {};
}

std::string parent_of(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

struct NpmFailure {
  std::string code;     // "EUSAGE"
  std::string message;  // its first line of prose
};

// npm's log: lines "npm error code EUSAGE", then "npm error <text>" ("npm ERR!" before npm 10.9).
NpmFailure read_failure(const std::string& log) {
  NpmFailure failure;
  auto text = find_file(AT_FDCWD, log);
  if (!text.has_value() || !*text) return failure;
  std::string_view rest = **text;
  while (!rest.empty()) {
    const auto newline = rest.find('\n');
    std::string_view line = rest.substr(0, newline);
    rest = newline == std::string_view::npos ? std::string_view{} : rest.substr(newline + 1);
    if (line.starts_with("npm error ")) {
      line.remove_prefix(10);
    } else if (line.starts_with("npm ERR! ")) {
      line.remove_prefix(9);
    } else {
      continue;
    }
    if (line.starts_with("code ") && failure.code.empty()) {
      failure.code = line.substr(5);
    } else if (failure.message.empty() && line.find_first_not_of(' ') != std::string_view::npos) {
      failure.message = line;
    }
  }
  return failure;
}

std::string hint_for(const std::string& code, const std::string& log) {
  const std::string see = "all of npm's output is in " + log;
  if (code == "EUSAGE") return "package.json and the lock do not agree: run npm install, commit the lock; " + see;
  if (code == "ERESOLVE") return "peer dependencies conflict (a project usually sets legacy-peer-deps in .npmrc); " + see;
  if (code == "ENOSPC") return "free some space on the store's volume; " + see;
  return see;
}

Result<ChildResult> run_logged(const NpmRun& run, const std::vector<std::string>& argv) {
  const Fd log(::open(run.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return fail_errno(errno, "write the log", run.log);
  PFNM_TRY(run.fs.announce(Mutation::spawn, argv[0]));
  ChildSpec spec;
  spec.argv = argv;
  spec.environment =
      npm_environment(run.environment, run.resolution.record.node, run.resolution.npmrc_variables);
  spec.directory = run.install;
  spec.output = log.get();
  if (run.build_lock >= 0) spec.keep_open = run.build_lock;
  spec.on_tick = run.on_tick;
  return run_child(spec);
}

// The program of the package itself: node_modules/.bin belongs to whoever npm linked there.
Result<std::string> patch_package_program(const NpmRun& run) {
  const std::string package = run.install + "/node_modules/patch-package";
  PFNM_TRY_ASSIGN(const auto text, find_file(AT_FDCWD, package + "/package.json"));
  if (text) {
    PFNM_TRY_ASSIGN(const PackageManifest manifest, parse_package_manifest(*text, package + "/package.json"));
    for (const auto& [name, file] : manifest.bin)
      if (name == "patch-package") return package + "/" + file;
  }
  return fail(Error::make(Errc::failed_child, "apply the patches of", run.resolution.project.root,
                          "its scripts call patch-package, which the lock does not install"));
}

Status run_patch_package(const NpmRun& run) {
  PFNM_TRY_ASSIGN(const std::string program, patch_package_program(run));
  std::vector<std::string> argv{run.resolution.record.node.path, program};
  const auto& arguments = *run.resolution.patch_package;
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  // Without it a patch that does not apply is a warning and a tree nobody asked for.
  if (std::find(argv.begin(), argv.end(), "--error-on-fail") == argv.end()) argv.emplace_back("--error-on-fail");
  PFNM_TRY_ASSIGN(const ChildResult result, run_logged(run, argv));
  if (result.ok()) return {};
  return fail(Error::make(Errc::failed_child, "apply the patches of", run.resolution.project.root,
                          "patch-package exited with " + std::to_string(result.exit_code),
                          "its output is at the end of " + run.log));
}

}  // namespace

Status stage_manifest_set(const Fs& fs, const Resolution& resolution, const std::string& directory) {
  for (const StagedFile& file : resolution.files) {
    const std::string path = directory + "/" + file.path;
    PFNM_TRY(fs.ensure_dirs(parent_of(path)));
    PFNM_TRY(fs.create_file(AT_FDCWD, path, file.content));
  }
  for (const std::string& tree : resolution.file_trees) {
    const std::string path = directory + "/" + tree;
    PFNM_TRY(fs.ensure_dirs(parent_of(path)));
    PFNM_TRY(copy_plain_tree(fs, resolution.project.root + "/" + tree, path));
  }
  return {};
}

namespace {

Status run_npm(const NpmRun& run, const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{run.resolution.record.npm.path};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  argv.insert(argv.end(), {"--no-audit", "--no-fund", "--no-progress"});
  PFNM_TRY_ASSIGN(const ChildResult result, run_logged(run, argv));
  if (result.ok()) return {};
  const NpmFailure failure = read_failure(run.log);
  std::string reason = "npm " + arguments.front() + " exited with " + std::to_string(result.exit_code);
  if (!failure.code.empty()) reason += " (" + failure.code + ")";
  if (!failure.message.empty()) reason += ": " + failure.message;
  return fail(Error::make(Errc::failed_child, "build the install for", run.resolution.project.lock_path(), reason,
                          hint_for(failure.code, run.log)));
}

// npm ci without scripts, a look at what the packages really contain, and only then npm rebuild, which runs them: the
// tree is the same as with npm ci alone (docs/trust.md).
Status run_approved_scripts(const NpmRun& run) {
  PFNM_TRY_ASSIGN(const DiskTrust trust, survey_disk_trust(run.resolution, run.install));
  PFNM_TRY_ASSIGN(const auto unapproved, find_unapproved(run.store, trust.items));
  if (unapproved) {
    return fail(Error::make(Errc::refused, "build the install for", run.resolution.project.lock_path(),
                            unapproved->shown + " would get to run, and was never approved", "pfnm link approves it"));
  }
  return trust.runs == DiskTrust::Runs::nothing ? Status{} : run_npm(run, {"rebuild"});
}

Status restore_hidden_lock(const NpmRun& run) {
  const std::string path = run.install + "/node_modules/.package-lock.json";
  PFNM_TRY_ASSIGN(const auto hidden, find_file(AT_FDCWD, path));
  PFNM_TRY_ASSIGN(const auto lock, find_file(AT_FDCWD, run.install + "/" + run.resolution.project.lock_name));
  if (!hidden || !lock) return {};
  PFNM_TRY_ASSIGN(const std::string restored, with_workspace_scripts(*hidden, *lock));
  return restored == *hidden ? Status{} : run.fs.write_file(AT_FDCWD, path, restored);
}

}  // namespace

Status run_npm_ci(const NpmRun& run) {
  switch (run.trust) {
    case ScriptTrust::all:
      PFNM_TRY(run_npm(run, {"ci"}));
      break;
    case ScriptTrust::approved_only:
      PFNM_TRY(run_npm(run, {"ci", "--ignore-scripts"}));
      PFNM_TRY(run_approved_scripts(run));
      break;
  }
  PFNM_TRY(restore_hidden_lock(run));
  // An empty lock leaves none; a layout needs the directory.
  PFNM_TRY(run.fs.ensure_dir(AT_FDCWD, run.install + "/node_modules"));
  if (run.resolution.patch_package) PFNM_TRY(run_patch_package(run));
  return {};
}

Status drop_build_files(const Fs& fs, const Resolution& resolution, const std::string& directory) {
  PFNM_TRY(remove_tree(fs, AT_FDCWD, directory + "/.npmrc"));
  if (!resolution.patch_package) return {};
  for (const std::string& tree : resolution.file_trees)
    if (tree.find(".tgz") == std::string::npos && tree.find(".tar") == std::string::npos)
      PFNM_TRY(remove_tree(fs, AT_FDCWD, directory + "/" + tree));
  return {};
}

}  // namespace pfnm
