// How long ref writes take on a volume while something else goes on there.
//
//   bench_refwrite --beside DIR --label NAME [--json FILE] [--idle SECONDS] [-- COMMAND ARGUMENTS...]
//
// A thread writes refs in DIR as git does, one every five milliseconds, from before COMMAND is started until the file
// system has taken everything that it left to be written (syncfs). One line comes out: times, and the latencies.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "nmstore/platform/os.hpp"
#include "nmstore/platform/ref_write.hpp"
#include "nmstore/reclaim/probe.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Sample {
  std::int64_t at_us = 0;  // since the start
  std::int64_t took_us = 0;
};

struct Arguments {
  std::string beside;
  std::string label = "command";
  std::string json;
  int idle_seconds = 0;
  std::vector<char*> command;
};

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "bench_refwrite: %s\n", why.c_str());
  std::exit(2);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") {
      for (int j = i + 1; j < argc; ++j) arguments.command.push_back(argv[j]);
      break;
    }
    if (i + 1 >= argc) die("no value for " + word);
    const std::string value = argv[++i];
    if (word == "--beside") arguments.beside = value;
    else if (word == "--label") arguments.label = value;
    else if (word == "--json") arguments.json = value;
    else if (word == "--idle") arguments.idle_seconds = std::atoi(value.c_str());
    else die("unknown argument " + word);
  }
  if (arguments.beside.empty()) die("--beside DIR is missing");
  arguments.command.push_back(nullptr);
  return arguments;
}

std::int64_t us_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration_cast<std::chrono::microseconds>(end - start).count();
}

class Victim {
 public:
  Victim(std::string directory, Clock::time_point start)
      : directory_(std::move(directory)), start_(start), thread_([this] { run(); }) {}
  ~Victim() { stop(); }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  const std::vector<Sample>& stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return samples_;
  }

 private:
  void run() {
    for (unsigned turn = 0; !stop_; ++turn) {
      const auto before = Clock::now();
      const std::string value = std::string(40, turn / 16 % 2 == 0 ? 'a' : 'b') + "\n";
      const int error = pfnm::write_ref_file(directory_, std::to_string(turn % 16), value, pfnm::Durable::no);
      const auto after = Clock::now();
      if (error != 0) die("a ref write failed: " + std::string(std::strerror(error)));
      samples_.push_back({us_between(start_, before), us_between(before, after)});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  std::string directory_;
  Clock::time_point start_;
  std::atomic<bool> stop_{false};
  std::vector<Sample> samples_;
  std::thread thread_;
};

int run_command(const std::vector<char*>& command) {
  pid_t pid = -1;
  if (::posix_spawnp(&pid, command[0], nullptr, nullptr, command.data(), environ) != 0) die("cannot run the command");
  int status = 0;
  if (::waitpid(pid, &status, 0) < 0) die("cannot wait for the command");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void write_json(const Arguments& arguments, const std::vector<Sample>& samples, std::int64_t command_us,
                std::int64_t settled_us, const pfnm::Latency& latency) {
  FILE* file = std::fopen(arguments.json.c_str(), "w");
  if (file == nullptr) die("cannot write " + arguments.json);
  std::fprintf(file, "{\"label\":\"%s\",\"command_s\":%.3f,\"settled_s\":%.3f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
               "\"max_ms\":%.3f,\"samples\":[", arguments.label.c_str(), static_cast<double>(command_us) / 1e6,
               static_cast<double>(settled_us) / 1e6, static_cast<double>(latency.p50_us) / 1e3,
               static_cast<double>(latency.p99_us) / 1e3, static_cast<double>(latency.max_us) / 1e3);
  for (std::size_t i = 0; i < samples.size(); ++i)
    std::fprintf(file, "%s[%.3f,%.3f]", i == 0 ? "" : ",", static_cast<double>(samples[i].at_us) / 1e6,
                 static_cast<double>(samples[i].took_us) / 1e3);
  std::fprintf(file, "]}\n");
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const std::string refs = arguments.beside + "/refwrite-bench";
  if (::mkdir(refs.c_str(), 0755) != 0 && errno != EEXIST) die("cannot make " + refs);
  const int fd = ::open(refs.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) die("cannot open " + refs);
  std::ignore = pfnm::os::sync_file_system(fd);
  const auto start = Clock::now();
  Victim victim(refs, start);
  int code = 0;
  if (arguments.command[0] != nullptr) code = run_command(arguments.command);
  std::this_thread::sleep_for(std::chrono::seconds(arguments.idle_seconds));
  const std::int64_t command_us = us_between(start, Clock::now());
  std::ignore = pfnm::os::sync_file_system(fd);
  const auto& samples = victim.stop();
  const std::int64_t settled_us = us_between(start, Clock::now());
  std::vector<std::int64_t> took;
  for (const Sample& sample : samples) took.push_back(sample.took_us);
  const pfnm::Latency latency = pfnm::summarise(took);
  std::printf("%-24s command %8.2f s  settled %8.2f s  ref writes: p50 %8.3f  p99 %9.3f  max %10.3f ms  (%zu)\n",
              arguments.label.c_str(), static_cast<double>(command_us) / 1e6, static_cast<double>(settled_us) / 1e6,
              static_cast<double>(latency.p50_us) / 1e3, static_cast<double>(latency.p99_us) / 1e3,
              static_cast<double>(latency.max_us) / 1e3, samples.size());
  if (!arguments.json.empty()) write_json(arguments, samples, command_us, settled_us, latency);
  return code;
}
