// A frozen file system (issue 4, point 4): fsfreeze(8)'s ioctl on a loop ext4 that holds the store. Needs root and a loop
// device. Thawed and unmounted whatever happens: by guards, and by a watchdog process should the test hang.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

#include "nmstore/platform/fd.hpp"
#include "tests/support/gc_driver.hpp"

namespace pfnm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Clock = std::chrono::steady_clock;

class LoopVolume {
 public:
  // An ext4 of 64 MB in `image`, mounted at `place`. `why` where it cannot be.
  LoopVolume(const std::string& image, std::string place, const std::vector<std::string>& environment)
      : place_(std::move(place)), why_(set_up(image, environment)) {
    if (why_.empty()) start_watchdog();
  }
  ~LoopVolume() {
    thaw();
    root_ = Fd();
    if (watchdog_ > 0) {
      ::kill(watchdog_, SIGKILL);
      ::waitpid(watchdog_, nullptr, 0);
    }
    // A child that was stuck ends now; it holds the directory until then.
    for (int i = 0; mounted_ && i < 500 && ::umount2(place_.c_str(), 0) != 0 && errno == EBUSY; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::umount2(place_.c_str(), MNT_DETACH);  // where it did not end
  }
  LoopVolume(const LoopVolume&) = delete;
  LoopVolume& operator=(const LoopVolume&) = delete;

  [[nodiscard]] const std::string& why() const { return why_; }
  [[nodiscard]] bool freeze() const { return ::ioctl(root_.get(), FIFREEZE, 0) == 0; }
  void thaw() const {
    if (root_) std::ignore = ::ioctl(root_.get(), FITHAW, 0);
  }

 private:
  std::string set_up(const std::string& image, const std::vector<std::string>& environment) {
    const Fd file(::open(image.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file || ::ftruncate(file.get(), 64 << 20) != 0) return "no image";
    if (::access("/sbin/mkfs.ext4", X_OK) != 0) return "no mkfs.ext4";
    if (run({{"/sbin/mkfs.ext4", "-q", "-F", image}, environment, "/"}).rc != 0) return "mkfs.ext4 failed";
    const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    const int number = control ? ::ioctl(control.get(), LOOP_CTL_GET_FREE) : -1;
    if (number < 0) return "no loop device";
    const std::string device = "/dev/loop" + std::to_string(number);
    const Fd loop(::open(device.c_str(), O_RDWR | O_CLOEXEC));
    if (!loop || ::ioctl(loop.get(), LOOP_SET_FD, file.get()) != 0) return "the loop device cannot be set up";
    loop_info64 info{};
    info.lo_flags = LO_FLAGS_AUTOCLEAR;  // goes with its last user, whoever that is
    std::ignore = ::ioctl(loop.get(), LOOP_SET_STATUS64, &info);
    make_dirs(place_);
    if (::mount(device.c_str(), place_.c_str(), "ext4", 0, "") != 0) return "a loop device cannot be mounted";
    mounted_ = true;
    root_ = Fd(::open(place_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return {};
  }
  void start_watchdog() {
    watchdog_ = ::fork();
    if (watchdog_ != 0) return;
    ::alarm(120);  // should it hang itself
    const pid_t parent = ::getppid();
    for (int second = 0; second < 60 && ::getppid() == parent; ++second) ::sleep(1);
    thaw();
    root_ = Fd();
    if (::getppid() != parent) ::umount2(place_.c_str(), MNT_DETACH);
    ::_exit(0);
  }

  std::string place_;
  Fd root_;
  bool mounted_ = false;
  std::string why_;  // after what its making sets
  pid_t watchdog_ = -1;
};

class GcFreeze : public GcTest {
 protected:
  void SetUp() override {
    if (!runs_as_root()) GTEST_SKIP() << "loop devices and fsfreeze need root (PFNM_TEST_AS_ROOT=1)";
    // The store is on the volume; everything else is not.
    volume_ = std::make_unique<LoopVolume>(at("image"), scratch().store(), environment());
    if (!volume_->why().empty()) GTEST_SKIP() << volume_->why();
    ASSERT_EQ(::rmdir((scratch().store() + "/lost+found").c_str()), 0);
    build_trashed_install();
    ASSERT_EQ(trash().items.size(), 1U);
    item_ = in_trash(trash().items.front().id);
    for (int i = 0; i < 2000; ++i)
      write_text(item_ + "/many/" + std::to_string(i % 20) + "/" + std::to_string(i), "x");
    impatient_.pacer.no_answer_ms = 1000;
    // Batches that a test can step into, whatever the volume's speed.
    impatient_.pacer.first_batch = 16;
    impatient_.pacer.largest_batch = 16;
  }
  void TearDown() override { volume_.reset(); }

  [[nodiscard]] Tree picture() const { return photograph(store().paths.trash()); }
  void expect_finishes_after_thaw() {
    volume_->thaw();
    const Ended next = gc();
    EXPECT_EQ(next.rc, 0) << next.out << next.err;
    EXPECT_THAT(names_in(store().paths.trash()), IsEmpty());
    expect_ledger_tells_the_truth("after the thaw");
    expect_sound("after the thaw");
  }

  std::unique_ptr<LoopVolume> volume_;
  std::string item_;
  GcDrive impatient_;
};

TEST_F(GcFreeze, FrozenBeforeTheStartDeletesNothing) {
  const Tree before = picture();
  ASSERT_TRUE(volume_->freeze());
  const auto start = Clock::now();
  const Ended stalled = gc(impatient_);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
  volume_->thaw();
  EXPECT_EQ(stalled.rc, 5) << stalled.out << stalled.err;
  EXPECT_THAT(stalled.err, HasSubstr("BLIND why=fs-stalled\n"));
  EXPECT_THAT(differences(before, picture()), IsEmpty());
  expect_finishes_after_thaw();
}

// The program's own patience, from the command line to the exit.
TEST_F(GcFreeze, TheProgramItselfGivesUpInTime) {
  const Tree before = picture();
  ASSERT_TRUE(volume_->freeze());
  const auto start = Clock::now();
  const RunResult stalled = pfnm({"gc", "--apply", "--now"}, repo_.root());
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
  volume_->thaw();
  EXPECT_EQ(stalled.rc, 5) << stalled.all();
  EXPECT_THAT(stalled.err, HasSubstr("BLIND why=fs-stalled\n"));
  EXPECT_THAT(differences(before, picture()), IsEmpty());
}

TEST_F(GcFreeze, FrozenInTheMiddleOfADeletionStopsItThere) {
  // The remover stands before one of its unlinks when the freeze comes.
  PausingHook hook(300);
  GcDrive drive = impatient_;
  drive.hook = &hook;
  InChild collector(gc_work(drive));
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  while (!hook.is_paused() && !has_ended(collector.pid()) && Clock::now() < deadline) hook.await_pause();
  ASSERT_TRUE(hook.is_paused());
  ASSERT_TRUE(volume_->freeze());
  hook.let_go();
  const auto start = Clock::now();
  const Ended stalled = collector.wait();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
  const Tree frozen = picture();
  EXPECT_EQ(stalled.rc, 5) << stalled.out << stalled.err;
  EXPECT_THAT(stalled.err, HasSubstr("BLIND why=fs-stall-during-delete\n"));
  volume_->thaw();
  // The one unlink that was in the kernel may still happen; nothing else does.
  std::size_t gone = 0;
  for (int look = 0; look < 20; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    gone = 0;
    for (const std::string& line : differences(frozen, picture(), Compare::content)) gone += line.starts_with("gone") ? 1U : 0U;
  }
  EXPECT_LE(gone, 1U);
  bool open_entry = false;
  for (const LedgerEntry& entry : ledger_entries()) open_entry = open_entry || (entry.step == "remove" && entry.ended_at == 0);
  EXPECT_TRUE(open_entry) << "the outcome of what stalled is the next run's to tell";
  expect_finishes_after_thaw();
}

}  // namespace
}  // namespace pfnm::test
