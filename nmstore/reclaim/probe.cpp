#include "nmstore/reclaim/probe.hpp"

#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "nmstore/platform/fs.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/platform/ref_write.hpp"

namespace pfnm {
namespace {

using Clock = std::chrono::steady_clock;

struct Answer {
  std::int64_t felt_us = 0;
  std::int64_t deep_us = -1;
  std::uint32_t contended = 0;
  std::int32_t error = 0;
};

constexpr unsigned k_refs = 16;

// What git takes for a repository, so that a person who finds it can look at it with git.
Status make_scratch(const Fs& fs, const std::string& scratch) {
  PFNM_TRY(fs.ensure_dir(AT_FDCWD, scratch, 0700));
  for (const char* dir : {"/objects", "/refs", "/refs/heads", "/refs/heads/probe"})
    PFNM_TRY(fs.ensure_dir(AT_FDCWD, scratch + dir, 0700));
  const auto head = fs.create_file(AT_FDCWD, scratch + "/HEAD", "ref: refs/heads/probe/0\n");
  if (head.has_value() || head.error().sys_errno == EEXIST) return {};
  return head;
}

// A prober that was killed while a stalled write came back left its lock. Nobody but pfnm writes here, and none of its
// ref writes takes this long and is still waited for.
void drop_stale_locks(const Fs& fs, const std::string& refs) {
  constexpr std::int64_t k_stale_ns = 15 * 60 * 1'000'000'000LL;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  for (unsigned ref = 0; ref < k_refs; ++ref) {
    const std::string lock = refs + "/" + std::to_string(ref) + ".lock";
    const auto st = find_stat(AT_FDCWD, lock);
    if (!st.has_value() || !*st) continue;
    if (now.tv_sec * 1'000'000'000LL - (*st)->ctime_ns > k_stale_ns) std::ignore = fs.unlink(AT_FDCWD, lock);
  }
}

class RefWriter {
 public:
  explicit RefWriter(const std::string& scratch) : refs_(scratch + "/refs/heads/probe") {}

  // Tries the next ref where one is locked. EEXIST only where all are.
  int write(Durable durable, std::int64_t& took_us, std::uint32_t& contended) {
    for (unsigned tries = 0; tries < k_refs; ++tries) {
      const unsigned turn = turn_++;
      // Never a write of what is there already.
      const std::string value = std::string(40, turn / k_refs % 2 == 0 ? 'a' : 'b') + "\n";
      const auto start = Clock::now();
      const int error = write_ref_file(refs_, std::to_string(turn % k_refs), value, durable);
      took_us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
      if (error != EEXIST) return error;
      ++contended;
    }
    return EEXIST;
  }

 private:
  std::string refs_;
  unsigned turn_ = 0;
};

void serve(const WorkerChannel& channel, const std::string& scratch) {
  const Fs fs;
  const auto made = make_scratch(fs, scratch);
  drop_stale_locks(fs, scratch + "/refs/heads/probe");
  RefWriter writer(scratch);
  char request = 0;
  while (channel.receive(&request, 1)) {
    Answer answer;
    answer.error = made.has_value() ? 0 : made.error().sys_errno;
    if (answer.error == 0) answer.error = writer.write(Durable::no, answer.felt_us, answer.contended);
    if (answer.error == 0 && request == 'd')
      answer.error = writer.write(Durable::yes, answer.deep_us, answer.contended);
    if (!channel.send(&answer, sizeof(answer))) return;
  }
}

}  // namespace

Result<Prober> Prober::start(const std::string& scratch) {
  PFNM_TRY_ASSIGN(Worker worker, Worker::start([&](const WorkerChannel& channel) { serve(channel, scratch); }));
  return Prober(scratch, std::move(worker));
}

Status Prober::ask(Depth depth) {
  if (outstanding_) return fail(Error::make(Errc::busy, "probe", scratch_, "the last ref write has not come back"));
  const char request = depth == Depth::deep ? 'd' : 'f';
  PFNM_TRY(worker_.send(&request, 1));
  outstanding_ = true;
  return {};
}

Result<std::optional<ProbeSample>> Prober::answer(std::chrono::milliseconds limit) {
  PFNM_TRY_ASSIGN(const auto bytes, worker_.receive(sizeof(Answer), limit));
  if (!bytes) return std::optional<ProbeSample>{};
  outstanding_ = false;
  Answer answer;
  std::copy(bytes->begin(), bytes->end(), reinterpret_cast<char*>(&answer));  // what our own child wrote
  if (answer.error != 0) return fail_errno(answer.error, "write a ref in", scratch_);
  return std::optional<ProbeSample>{ProbeSample{answer.felt_us, answer.deep_us, answer.contended}};
}

Result<std::optional<ProbeSample>> Prober::sample(Depth depth, std::chrono::milliseconds limit) {
  PFNM_TRY(ask(depth));
  return answer(limit);
}

Latency summarise(std::vector<std::int64_t> samples_us) {
  if (samples_us.empty()) return {};
  std::sort(samples_us.begin(), samples_us.end());
  const auto rank = [&](double share) {
    const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(samples_us.size())));
    return samples_us[std::max<std::size_t>(at, 1) - 1];
  };
  return {rank(0.50), rank(0.99), samples_us.back(), samples_us.front()};
}

}  // namespace pfnm
