// `pfnm gc` in a child process, with a clock that runs ahead and a hook on every change that it makes, its remover's
// child included; and what must hold of a store after whatever happened to it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "nmstore/db/ledger.hpp"
#include "nmstore/store/trash.hpp"
#include "tests/support/project_fixture.hpp"

namespace pfnm::test {

inline constexpr std::int64_t k_two_days = 2 * 24 * 3600;

// Memory that a process shares with those it forks.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t size);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  [[nodiscard]] void* address() const { return address_; }

 private:
  void* address_;
  std::size_t size_;
};

// Counts the changes of a process and of its children, and does something at the k-th.
class CountingHook final : public MutationHook {
 public:
  enum class How {
    count_only,
    kill,       // whoever makes the change
    kill_both,  // and the process that was started with the hook
    fail,
    call,       // `at` is called in the process that makes the change
  };
  struct Fault {
    How how = How::count_only;
    std::uint64_t k = 0;
    int error = 0;
    std::function<void()> at;
  };
  explicit CountingHook(Fault fault);
  int before(Mutation mutation, const char* path) override;
  void started_here();  // in the process to which `kill_both` refers
  [[nodiscard]] std::uint64_t count() const;
  // The k-th change was made by a child.
  [[nodiscard]] bool was_childs(std::uint64_t k) const;

 private:
  struct State {
    std::atomic<std::uint64_t> count;
    std::atomic<pid_t> root;
    std::array<std::atomic<char>, 4096> childs;
  };
  Fault fault_;
  SharedMemory memory_;
  State* state_;
};

// Holds whoever makes a change until it is let go on. Between processes.
class PausingHook final : public MutationHook {
 public:
  explicit PausingHook(std::uint64_t only_at = 0);  // 0: at every change
  int before(Mutation mutation, const char* path) override;
  void pause();
  [[nodiscard]] bool is_paused() const;
  void let_go();
  void await_pause() const;  // for a moment at most; who looks in vain looks at the process next

 private:
  struct State {
    std::atomic<std::uint32_t> asked;
    std::atomic<std::uint32_t> granted;
    std::atomic<std::uint64_t> count;
  };
  SharedMemory memory_;
  State* state_;
  std::uint64_t only_at_;
};

struct Ended {
  int rc = -1;  // 128 + signal
  std::string out;
  std::string err;
  [[nodiscard]] bool killed() const { return rc == 128 + 9; }
  [[nodiscard]] Json json() const;  // an object, empty where `out` is none
};

// A function in a process of its own, its output captured.
class InChild {
 public:
  explicit InChild(const std::function<int()>& work);
  InChild(InChild&& other) noexcept;
  InChild(const InChild&) = delete;
  InChild& operator=(const InChild&) = delete;
  ~InChild();  // ends it
  [[nodiscard]] Ended wait();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
  int out_;
  int err_;
};

struct GcDrive {
  std::int64_t ahead = k_two_days;
  MutationHook* hook = nullptr;
  PacerPolicy pacer;
  Apply apply = Apply::yes;
};

class GcTest : public ProjectTest {
 protected:
  GcTest();
  // `gc --apply --now --json`, as if it were `ahead` seconds later.
  [[nodiscard]] std::function<int()> gc_work(const GcDrive& drive) const;
  [[nodiscard]] Ended gc(const GcDrive& drive = {}) const { return InChild(gc_work(drive)).wait(); }
  [[nodiscard]] std::function<int()> link_work(const std::string& worktree, MutationHook* hook) const;

  [[nodiscard]] Store store() const { return Store{StorePaths(scratch().store())}; }
  [[nodiscard]] Trash trash() const;
  [[nodiscard]] std::string in_trash(const std::string& name) const { return store().paths.trash() + "/" + name; }
  // Of the second version, which is on no branch: the only one that may go.
  [[nodiscard]] InstallName second_install() const;
  [[nodiscard]] std::string ledger_file() const { return scratch().home() + "/.local/state/pfnm/ledger.db"; }
  [[nodiscard]] std::vector<LedgerEntry> ledger_entries() const;

  // Worktree `two` with the second version's lock, not linked; the install is built and nothing uses it.
  void build_unused_install();
  // And reclaimed: it is in the trash.
  void build_trashed_install();

  // What a state on disk must fulfil whatever happened: no seal without a whole install, no trash without a record.
  void expect_sound(const std::string& point) const;
  // After a gc: every entry of the ledger has an outcome, and what it wrote about each subject is what is there.
  void expect_ledger_tells_the_truth(const std::string& point);
  // What has been told up to now was true then; somebody may have taken an install back since.
  void take_ledger_as_told();
  void expect_provisioned(const std::string& point, const std::string& worktree, const ProjectVersion& version) const;

  // Everything that a test changes: put back for each point.
  void remember_start(const std::string& name = "start");
  void put_back(const std::string& name = "start");

  std::string two_;

 private:
  std::set<std::int64_t> old_entries_;  // their subjects may have moved on since
};

enum class Waits { no, in_flock, asleep };
// What the kernel says that a process is doing.
[[nodiscard]] Waits what_it_waits_for(pid_t pid);
[[nodiscard]] bool has_ended(pid_t pid);  // not reaped yet counts as ended

}  // namespace pfnm::test
