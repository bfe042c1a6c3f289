// Where the scenario happens: a repository, its worktrees, a store and, for a made-up project, a toolchain. Everything
// is made before anything is timed and nothing is removed before all timing is over: a file system without a journal
// makes creating slow for minutes after a deletion.
#pragma once

#include <string>
#include <vector>

#include "bench/scenario/options.hpp"
#include "bench/scenario/timing.hpp"
#include "nmstore/base/result.hpp"

namespace pfnm::bench {

enum class Lock { base, changed };

class Scratch {
 public:
  // The repository, with a second branch whose lock differs in 1 % of its packages (made-up projects only).
  [[nodiscard]] static Result<Scratch> make(const CreateOptions& options);

  [[nodiscard]] Result<std::string> add_worktree(const std::string& name, Lock lock) const;
  [[nodiscard]] Status check_out(const std::string& worktree, Lock lock) const;

  [[nodiscard]] Command pfnm(const std::string& directory, std::vector<std::string> arguments) const;
  [[nodiscard]] Command tool(const std::string& name, const std::string& directory,
                             std::vector<std::string> arguments) const;
  [[nodiscard]] Command replay(const std::string& script, const std::string& directory) const;
  [[nodiscard]] Command nothing() const;  // a static program that exits

  [[nodiscard]] bool has_changed_lock() const { return options_.project.empty(); }
  [[nodiscard]] const std::string& root() const { return options_.directory; }
  // Writes everything to the device, so that no round pays for what came before it.
  [[nodiscard]] Status settle() const;

 private:
  explicit Scratch(const CreateOptions& options) : options_(options) {}
  [[nodiscard]] Status fill_made_up() const;
  [[nodiscard]] Status fill_copied() const;
  [[nodiscard]] Status commit(const std::string& message) const;
  [[nodiscard]] Command git(const std::string& directory, const std::vector<std::string>& arguments) const;
  [[nodiscard]] std::string repository() const { return options_.directory + "/repo"; }

  CreateOptions options_;
  std::vector<std::string> environment_;
  std::string path_;
};

}  // namespace pfnm::bench
