#include "tests/support/scratch.hpp"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace pfnm::test {
namespace {

ProcessScratch& state() {
  static ProcessScratch scratch;
  return scratch;
}

std::string test_name() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  return info == nullptr ? "process" : std::string(info->test_suite_name()).substr(0, 24);
}

}  // namespace

const ProcessScratch& process_scratch() { return state(); }
void set_process_scratch(ProcessScratch scratch) { state() = std::move(scratch); }
bool runs_as_root() { return ::geteuid() == 0; }

Scratch::Scratch(const std::string& name) {
  std::string pattern = process_scratch().base + "/" + name + "-XXXXXX";
  for (char& c : pattern)
    if (c == ' ') c = '-';
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
  root_ = pattern;
  make_dirs(home());
  make_dirs(path("tmp"));
  // No background process may outlive a test, and git must not start its own maintenance.
  write_text(home() + "/.gitconfig",
             "[user]\n\tname = Test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n"
             "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[pfnm]\n\twriteBack = off\n");
  write_text(home() + "/.npmrc", "offline=true\naudit=false\nfund=false\nupdate-notifier=false\n");
}

Scratch::~Scratch() { delete_tree(root_); }

std::vector<std::string> Scratch::environment() const {
  const char* path_variable = std::getenv("PATH");
  return {"HOME=" + home(),     "PFNM_STORE=" + store(), std::string("PATH=") + (path_variable ? path_variable : "/usr/bin:/bin"),
          "TMPDIR=" + path("tmp"), "LC_ALL=C",            "GIT_CONFIG_NOSYSTEM=1"};
}

ScratchTest::ScratchTest() : scratch_(test_name()) {}

}  // namespace pfnm::test
