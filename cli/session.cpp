#include "cli/session.hpp"

#include <chrono>
#include <thread>

#include "nmstore/store/reference.hpp"

namespace pfnm {

std::string Session::absolute(const std::string& directory) const {
  if (directory.empty()) return process.directory;
  return directory.starts_with('/') ? directory : process.directory + "/" + directory;
}

Result<GitCli> Session::git() const {
  const auto program = find_program("git", process.variable("PATH"));
  if (!program) return fail(Error::make(Errc::bad_input, "find", "git", "it is not on PATH"));
  return GitCli{*program, git_environment(process.environment)};
}

Result<Store> Session::existing_store() const {
  PFNM_TRY_ASSIGN(const std::string root, process.store_root());
  return open_store(root);
}

Result<Target> find_target(const Session& session, const std::string& directory) {
  // In the order in which a person would want to hear of it: no project before no node.
  PFNM_TRY_ASSIGN(const Project project, find_project(session.absolute(directory)));
  std::ignore = project;
  PFNM_TRY_ASSIGN(const Programs programs, find_toolchain(session.process.variable("PATH")));
  return find_target_with(session, directory, programs);
}

Result<Target> find_target_with(const Session& session, const std::string& directory, const Programs& programs) {
  PFNM_TRY_ASSIGN(Project project, find_project(session.absolute(directory)));
  PFNM_TRY_ASSIGN(GitCli git, session.git());
  PFNM_TRY_ASSIGN(Settings settings, read_settings(git, project));
  PFNM_TRY_ASSIGN(const std::string root, session.process.store_root());
  PFNM_TRY_ASSIGN(Store store, create_store(session.fs, root));
  const ResolveContext context{session.fs, store, programs, session.process.environment};
  PFNM_TRY_ASSIGN(Resolution resolution, resolve_install(context, project, settings.resolved));
  return Target{std::move(project),  std::move(store),    std::move(git), std::move(settings),
                programs,            std::move(resolution)};
}

Result<FileLock> lock_worktree(const Session& session, const Store& store, const std::string& project,
                               Progress& progress) {
  for (bool said = false;; said = true) {
    PFNM_TRY_ASSIGN(auto lock, try_lock_worktree(session.fs, store, project));
    if (lock) return std::move(*lock);
    if (!said) progress.note("another pfnm is at work in " + project + ": waiting for it");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    progress.tick();
  }
}

Result<LeasedInstall> ensure_leased(const Session& session, Target& target, Progress& progress) {
  const ResolveContext context{session.fs, target.store, target.programs, session.process.environment};
  BuildOptions options;
  options.max_builds = target.settings.max_builds;
  options.write_back = target.settings.write_back;
  options.trust = target.settings.trust;
  options.anew = target.settings.anew;
  options.progress = progress.for_build();
  PFNM_TRY_ASSIGN(FileLock lease, take_lease(session.fs, target.store, target.resolution.install));
  PFNM_TRY_ASSIGN(EnsuredInstall ensured, ensure_install(context, target.resolution, options));
  if (ensured.name != target.resolution.install) {
    PFNM_TRY_ASSIGN(lease, take_lease(session.fs, target.store, ensured.name));
    target.resolution.record.install = ensured.name;
  }
  return LeasedInstall{std::move(ensured), std::move(lease)};
}

}  // namespace pfnm
