#include "cli/root_scripts.hpp"

#include <unistd.h>

#include "nmstore/lock/package_manifest.hpp"
#include "nmstore/platform/process.hpp"

namespace pfnm {
namespace {

bool only_patches(const std::string& command) {
  return command == "patch-package" || (command.starts_with("patch-package ") &&
                                        command.find_first_of("&;|`$") == std::string::npos);
}

Status run_script(const Session& session, const Target& target, const std::string& directory,
                  const std::string& name) {
  ChildSpec spec;
  spec.argv = {target.programs.npm.path, "run", name};
  if (directory != ".") spec.argv.insert(spec.argv.end(), {"-w", directory});
  spec.environment = git_environment(session.process.environment);
  spec.directory = target.project.root;
  spec.output = STDERR_FILENO;
  PFNM_TRY_ASSIGN(const ChildResult result, run_child(spec));
  if (result.ok()) return {};
  return fail(Error::make(Errc::failed_child, "run", "the script " + name + " of " + directory,
                          "npm run exited with " + std::to_string(result.exit_code),
                          "the worktree is linked; run it by hand when it is mended"));
}

}  // namespace

Status run_root_scripts(const Session& session, const Target& target, Layout layout) {
  if (target.resolution.not_run.empty()) return {};
  if (layout == Layout::links && ::geteuid() == 0) {
    return fail(Error::make(Errc::refused, "run", "the project's lifecycle scripts",
                            "as root they could write into the shared install through its links",
                            "run them as another user, or use pfnm private"));
  }
  for (const auto& [name, command] : lifecycle_scripts(target.resolution.root))
    if (!only_patches(command)) PFNM_TRY(run_script(session, target, ".", name));
  for (const auto& [directory, names] : target.resolution.not_run) {
    if (directory == ".") continue;
    std::string_view rest = names;
    while (!rest.empty()) {
      const auto space = rest.find(' ');
      PFNM_TRY(run_script(session, target, directory, std::string(rest.substr(0, space))));
      rest = space == std::string_view::npos ? std::string_view{} : rest.substr(space + 1);
    }
  }
  return {};
}

}  // namespace pfnm
