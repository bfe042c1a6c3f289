// Where a test works: a directory of its own with a home, a store and git and npm settings, removed when it ends. The
// process-wide part (main.cpp) gives up root first, unless PFNM_TEST_AS_ROOT is set.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/run.hpp"
#include "tests/support/tree.hpp"

namespace pfnm::test {

// Set once by main() before any test runs.
struct ProcessScratch {
  std::string base;   // everything of this process is below it
  std::string front;  // bin/pfnm, a copy that the unprivileged user can run
};
[[nodiscard]] const ProcessScratch& process_scratch();
void set_process_scratch(ProcessScratch scratch);
[[nodiscard]] bool runs_as_root();

class Scratch {
 public:
  explicit Scratch(const std::string& name);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string path(const std::string& below) const { return root_ + "/" + below; }
  [[nodiscard]] std::string home() const { return path("home"); }
  [[nodiscard]] std::string store() const { return path("store"); }
  // HOME, PFNM_STORE, PATH and little else: nothing of the caller's git, npm or pfnm.
  [[nodiscard]] std::vector<std::string> environment() const;

 private:
  std::string root_;
};

// A fixture with a Scratch.
class ScratchTest : public ::testing::Test {
 protected:
  ScratchTest();
  [[nodiscard]] std::string at(const std::string& below) const { return scratch_.path(below); }
  [[nodiscard]] const Scratch& scratch() const { return scratch_; }

 private:
  Scratch scratch_;
};

}  // namespace pfnm::test
