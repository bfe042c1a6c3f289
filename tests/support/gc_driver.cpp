#include "tests/support/gc_driver.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <stdexcept>
#include <utility>

#include "nmstore/platform/read.hpp"
#include "nmstore/store/install_check.hpp"
#include "nmstore/store/seal.hpp"

namespace pfnm::test {
namespace {

std::string take_output(int fd) {
  std::string text;
  std::array<char, 1U << 16U> buffer{};
  ::lseek(fd, 0, SEEK_SET);
  for (ssize_t got = 0; (got = ::read(fd, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(fd);
  return text;
}

// The outcome that speaks of the disk, not of what somebody did since.
bool agrees(const Store& store, const std::map<std::string, TrashItem>& items, const LedgerEntry& entry) {
  const auto item = items.find(entry.subject);
  const bool there = item != items.end() && item->second.state != TrashState::empty;
  if (entry.step == "remove") return entry.outcome == "deleted" ? !there : true;
  if (entry.step == "settle") return !there || item->second.state == TrashState::whole;
  const bool sealed = exists(store.paths.seal(InstallName{entry.subject}));
  if (entry.outcome == "trashed") return !sealed;
  if (entry.outcome == "interrupted: it is where it was") return exists(store.paths.install(InstallName{entry.subject}));
  return true;
}

}  // namespace

SharedMemory::SharedMemory(std::size_t size)
    : address_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)), size_(size) {
  if (address_ == MAP_FAILED) throw std::runtime_error("mmap");
}
SharedMemory::~SharedMemory() { ::munmap(address_, size_); }

CountingHook::CountingHook(Fault fault)
    : fault_(std::move(fault)), memory_(sizeof(State)), state_(static_cast<State*>(memory_.address())) {}

void CountingHook::started_here() { state_->root = ::getpid(); }
std::uint64_t CountingHook::count() const { return state_->count.load(); }
bool CountingHook::was_childs(std::uint64_t k) const { return k < state_->childs.size() && state_->childs.at(k) != 0; }

int CountingHook::before(Mutation, const char*) {
  const std::uint64_t number = state_->count.fetch_add(1) + 1;
  const bool childs = ::getpid() != state_->root.load();
  if (number < state_->childs.size()) state_->childs.at(number) = childs ? 1 : 0;
  if (number != fault_.k) return 0;
  switch (fault_.how) {
    case How::count_only:
      break;
    case How::call:
      fault_.at();
      break;
    case How::fail:
      return fault_.error;
    case How::kill_both:
      if (childs) ::kill(state_->root.load(), SIGKILL);
      [[fallthrough]];
    case How::kill:
      ::kill(::getpid(), SIGKILL);
  }
  return 0;
}

PausingHook::PausingHook(std::uint64_t only_at)
    : memory_(sizeof(State)), state_(static_cast<State*>(memory_.address())), only_at_(only_at) {}

int PausingHook::before(Mutation, const char*) {
  const std::uint64_t number = state_->count.fetch_add(1) + 1;
  if (only_at_ == 0 || only_at_ == number) pause();
  return 0;
}

void PausingHook::pause() {
  const std::uint32_t ticket = state_->asked.fetch_add(1) + 1;
  ::syscall(SYS_futex, &state_->asked, FUTEX_WAKE, 64, nullptr, nullptr, 0);
  for (std::uint32_t granted = 0; (granted = state_->granted.load()) < ticket;)
    ::syscall(SYS_futex, &state_->granted, FUTEX_WAIT, granted, nullptr, nullptr, 0);
}

bool PausingHook::is_paused() const { return state_->granted.load() < state_->asked.load(); }

void PausingHook::await_pause() const {
  const std::uint32_t asked = state_->asked.load();
  if (asked > state_->granted.load()) return;
  const timespec moment{0, 2'000'000};
  ::syscall(SYS_futex, &state_->asked, FUTEX_WAIT, asked, &moment, nullptr, 0);
}

void PausingHook::let_go() {
  state_->granted.fetch_add(1);
  ::syscall(SYS_futex, &state_->granted, FUTEX_WAKE, 64, nullptr, nullptr, 0);
}

Json Ended::json() const {
  Json parsed = Json::parse(out, nullptr, false);
  return parsed.is_object() ? parsed : Json::object();
}

InChild::InChild(const std::function<int()>& work)
    : pid_(-1), out_(::memfd_create("out", MFD_CLOEXEC)), err_(::memfd_create("err", MFD_CLOEXEC)) {
  std::fflush(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ > 0) return;
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, 0);
  ::dup2(out_, 1);
  ::dup2(err_, 2);
  const int code = work();
  std::fflush(nullptr);
  ::_exit(code);
}

InChild::InChild(InChild&& other) noexcept : pid_(std::exchange(other.pid_, -1)), out_(other.out_), err_(other.err_) {}

InChild::~InChild() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  std::ignore = wait();
}

Ended InChild::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), take_output(out_), take_output(err_)};
}

GcTest::GcTest() : two_(repo_.add_worktree("two")) { switch_to(mini_project().second, two_); }

std::function<int()> GcTest::gc_work(const GcDrive& drive) const {
  return [this, drive] {
    if (auto* counting = dynamic_cast<CountingHook*>(drive.hook); counting != nullptr) counting->started_here();
    const Session session{Fs(drive.hook), ProcessContext{environment(), repo_.root()}};
    GcOptions options;
    options.apply = drive.apply;
    options.wait = Wait::now;
    options.form = OutputForm::json;
    options.now = [ahead = drive.ahead] { return seconds_now() + ahead; };
    options.pacer = drive.pacer;
    return static_cast<int>(command_gc(session, options));
  };
}

std::function<int()> GcTest::link_work(const std::string& worktree, MutationHook* hook) const {
  return [this, worktree, hook] {
    if (auto* counting = dynamic_cast<CountingHook*>(hook); counting != nullptr) counting->started_here();
    const Session session{Fs(hook), ProcessContext{environment(), worktree}};
    LinkOptions options;
    options.form = OutputForm::json;
    return static_cast<int>(command_link(session, options));
  };
}

Trash GcTest::trash() const {
  auto listed = list_trash(store());
  EXPECT_TRUE(listed.has_value());
  return listed.has_value() ? std::move(*listed) : Trash{};
}

InstallName GcTest::second_install() const {
  const std::string digest = sha256(read_text(mini_project().second.source + "/package-lock.json")).to_hex();
  for (const auto& directory : {scratch().store(), store().paths.seals(), store().paths.leases()})
    for (const std::string& name : names_in(directory))
      if (name.starts_with(digest)) return InstallName{name};
  return InstallName{digest};
}

std::vector<LedgerEntry> GcTest::ledger_entries() const {
  std::vector<LedgerEntry> all;
  if (!exists(ledger_file())) return all;
  auto ledger = Ledger::open(ledger_file(), OpenMode::read);
  EXPECT_TRUE(ledger.has_value());
  if (!ledger.has_value()) return all;
  auto runs = ledger->runs(1000);
  EXPECT_TRUE(runs.has_value());
  for (auto run = runs->rbegin(); run != runs->rend(); ++run) {
    const auto entries = ledger->entries_of(run->id);
    EXPECT_TRUE(entries.has_value());
    all.insert(all.end(), entries->begin(), entries->end());
  }
  return all;
}

void GcTest::build_unused_install() {
  ASSERT_EQ(pfnm({"link"}, one_).rc, 0);  // so that the repository is known
  ASSERT_EQ(pfnm({"install", "build"}, two_).rc, 0);
  // Once without a fault: what is remembered in the store about git's commits, and the state directory.
  GcDrive drive;
  drive.apply = Apply::no;
  ASSERT_EQ(gc(drive).rc, 0);
  for (int i = 0; i < 2000 && names_in(store().paths.memos()).size() < 2; ++i) ::sched_yield();
}

void GcTest::build_trashed_install() {
  build_unused_install();
  const Ended ended = gc();
  ASSERT_EQ(ended.rc, 0) << ended.out << ended.err;
  ASSERT_EQ(ended.json().value("reclaimed", 0), 1) << ended.out << ended.err;
}

void GcTest::expect_sound(const std::string& point) const {
  for (const std::string& name : names_in(store().paths.seals())) {
    if (!InstallName::parse(name)) continue;
    const std::string install = store().paths.install(InstallName{name});
    const auto manifest = ManifestView::open(manifest_file(install));
    ASSERT_TRUE(manifest.has_value()) << point << ": sealed, but without a manifest: " << name;
    const auto damaged = verify_install(install, *manifest, {});
    ASSERT_TRUE(damaged.has_value()) << point;
    EXPECT_TRUE(damaged->empty()) << point << ": sealed, but " << damaged->front().path << " is "
                                  << damage_word(damaged->front().damage);
  }
  EXPECT_EQ(Json(trash().unexplained).dump(), "[]") << point;
}

void GcTest::expect_ledger_tells_the_truth(const std::string& point) {
  std::map<std::string, LedgerEntry> last;
  for (const LedgerEntry& entry : ledger_entries()) {
    if (!old_entries_.insert(entry.id).second) continue;
    EXPECT_NE(entry.ended_at, 0) << point << ": no outcome of " << entry.step << " " << entry.subject;
    last[entry.subject] = entry;
  }
  std::map<std::string, TrashItem> items;
  for (const TrashItem& item : trash().items) items[item.id] = item;
  for (const auto& [subject, entry] : last)
    EXPECT_TRUE(agrees(store(), items, entry))
        << point << ": the ledger says " << entry.step << " " << subject << ": " << entry.outcome;
}

void GcTest::expect_provisioned(const std::string& point, const std::string& worktree,
                                const ProjectVersion& version) const {
  EXPECT_EQ(Json(layout_problems(worktree, version)).dump(), "[]") << point << ": " << worktree;
}

void GcTest::remember_start(const std::string& name) {
  delete_tree(at(name));
  make_dirs(at(name));
  for (const std::string part : {"store", "repo", "trees"}) copy_tree(at(part), at(name + "/" + part));
  if (exists(scratch().home() + "/.local")) copy_tree(scratch().home() + "/.local", at(name + "/local"));
}

void GcTest::put_back(const std::string& name) {
  for (const std::string part : {"store", "repo", "trees"}) {
    delete_tree(at(part));
    copy_tree(at(name + "/" + part), at(part));
  }
  delete_tree(scratch().home() + "/.local");
  if (exists(at(name + "/local"))) copy_tree(at(name + "/local"), scratch().home() + "/.local");
  fake_.forget_builds();
  old_entries_.clear();
  take_ledger_as_told();
}

void GcTest::take_ledger_as_told() {
  for (const LedgerEntry& entry : ledger_entries())
    if (entry.ended_at != 0) old_entries_.insert(entry.id);
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

Waits what_it_waits_for(pid_t pid) {
  const std::string text = read_text("/proc/" + std::to_string(pid) + "/syscall");
  if (text.starts_with(std::to_string(SYS_flock) + " ")) return Waits::in_flock;
  const bool asleep = text.starts_with(std::to_string(SYS_clock_nanosleep) + " ") ||
                      text.starts_with(std::to_string(SYS_nanosleep) + " ");
  return asleep ? Waits::asleep : Waits::no;
}

}  // namespace pfnm::test
