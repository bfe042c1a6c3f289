// The tests' main(). Started as root it runs them as an unprivileged user, because a directory of mode 0555 stops a
// user and not root; PFNM_TEST_AS_ROOT=1 keeps root. Everything happens below one scratch directory, which is removed
// at the end together with every process that the tests left (which is a failure).
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/scratch.hpp"

extern char** environ;  // NOLINT: POSIX's own

namespace {

using pfnm::test::ProcessScratch;
constexpr uid_t k_unprivileged = 54321;  // needs no entry in /etc/passwd
volatile sig_atomic_t g_child = 0;       // NOLINT: what a signal handler can reach

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::string make_base() {
  std::string pattern = variable("PFNM_TEST_DIR", variable("TMPDIR", "/tmp").c_str()) + "/pfnm-test-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) {
    std::perror(pattern.c_str());
    std::exit(1);
  }
  ::chmod(pattern.c_str(), 0755);
  return std::filesystem::canonical(pattern).string();
}

void copy_product(const std::string& base) {
  const std::string bin = base + "/product/bin";
  const std::string libexec = base + "/product/libexec/pfnm";
  std::filesystem::create_directories(bin);
  std::filesystem::create_directories(libexec);
  // An empty path: these tests do not drive the binaries.
  if (std::string_view(PFNM_TEST_FRONT).empty()) return;
  std::filesystem::copy_file(PFNM_TEST_FRONT, bin + "/pfnm");
  std::filesystem::copy_file(PFNM_TEST_MAIN, libexec + "/pfnm-main");
}

void chown_all(const std::string& path) {
  std::ignore = ::lchown(path.c_str(), k_unprivileged, k_unprivileged);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    std::ignore = ::lchown(entry.path().c_str(), k_unprivileged, k_unprivileged);
}

void drop_root(const std::string& base) {
  if (::geteuid() != 0 || !variable("PFNM_TEST_AS_ROOT", "").empty()) return;
  chown_all(base);
  if (::setgroups(0, nullptr) != 0 || ::setgid(k_unprivileged) != 0 || ::setuid(k_unprivileged) != 0) {
    std::perror("cannot give up root");
    ::_exit(1);
  }
  ::prctl(PR_SET_DUMPABLE, 1);  // the leak checker attaches to its own process
}

void clear_environment() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name = std::string(*entry).substr(0, std::string_view(*entry).find('='));
    if (name.starts_with("GIT_") || name.starts_with("npm_") || name.starts_with("NPM_") || name.starts_with("PFNM_S") ||
        name == "PF_NM_MODE" || name.starts_with("XDG_"))
      names.push_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

int run_here(const std::string& base) {
  drop_root(base);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::umask(022);
  clear_environment();
  ::setenv("HOME", (base + "/home").c_str(), 1);
  std::filesystem::create_directories(base + "/home");
  if (::chdir(base.c_str()) != 0) {
    std::fprintf(stderr, "the tests' user cannot reach %s: set PFNM_TEST_DIR to a directory that every user can\n",
                 base.c_str());
    return 1;
  }
  pfnm::test::set_process_scratch(ProcessScratch{base, base + "/product/bin/pfnm"});
  return RUN_ALL_TESTS();
}

// Children by the kernel's list: as a subreaper, this process inherits whatever a test left.
std::vector<pid_t> children() {
  std::vector<pid_t> pids;
  std::ifstream list("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  return pids;
}

std::string command_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/cmdline");
  std::string text;
  std::getline(in, text);
  for (char& c : text)
    if (c == '\0') c = ' ';
  return text;
}

// Ends what is left, after a moment for what was ending anyway; true where there was something.
bool end_leftovers() {
  for (int i = 0; i < 100; ++i) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (children().empty()) return false;
    ::usleep(50'000);
  }
  for (const pid_t pid : children()) {
    std::fprintf(stderr, "a test left process %d running: %s\n", pid, command_of(pid).c_str());
    ::kill(pid, SIGKILL);
  }
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  return true;
}

void pass_on(int signal_number) {
  if (g_child > 0) ::kill(static_cast<pid_t>(g_child), signal_number == SIGINT ? SIGTERM : signal_number);
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  if (::testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  if (::geteuid() != 0 && !variable("PFNM_TEST_AS_ROOT", "").empty()) {
    std::fprintf(stderr, "skipped: PFNM_TEST_AS_ROOT is set, but this is not root\n");
    return 77;
  }
  const std::string base = make_base();
  copy_product(base);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t child = ::fork();
  if (child == 0) {
    const int code = run_here(base);
    std::fflush(nullptr);
    std::exit(code);
  }
  g_child = child;
  ::signal(SIGINT, pass_on);
  ::signal(SIGTERM, pass_on);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  g_child = 0;
  const bool left = end_leftovers();
  pfnm::test::delete_tree(base);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (WIFSIGNALED(status)) std::fprintf(stderr, "the tests were ended by signal %d\n", WTERMSIG(status));
  return left && code == 0 ? 1 : code;
}
