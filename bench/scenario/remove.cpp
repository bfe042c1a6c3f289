// Makes trees like an install, and removes them with the product's remover: the other side of bench_refwrite.
//
//   bench_remove make DIR NAME ENTRIES     about that many entries: directories of 40 files of 1 to 4 KiB
//   bench_remove remove DIR NAME           with the remover, its probe in DIR/probe; every decision on stderr
#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "nmstore/platform/fs.hpp"
#include "nmstore/reclaim/remover.hpp"

namespace {

int make(const std::string& directory, const std::string& name, long entries) {
  const pfnm::Fs fs;
  const std::string top = directory + "/" + name;
  if (!fs.make_dir(AT_FDCWD, top).has_value()) return 1;
  long made = 1;
  for (long package = 0; made < entries; ++package) {
    const std::string path = top + "/package-" + std::to_string(package);
    if (!fs.make_dir(AT_FDCWD, path).has_value()) return 1;
    ++made;
    for (long i = 0; i < 40 && made < entries; ++i, ++made) {
      const std::string content(static_cast<std::size_t>(1024 + (package * 41 + i) % 4 * 1024), 'x');
      if (!fs.create_file(AT_FDCWD, path + "/file-" + std::to_string(i) + ".js", content, 0444).has_value()) return 1;
    }
  }
  std::fprintf(stderr, "%ld entries\n", made);
  return 0;
}

int remove(const std::string& directory, const std::string& name) {
  const pfnm::Fs fs;
  const auto start = std::chrono::steady_clock::now();
  pfnm::RemoverOptions options;
  const bool chatty = std::getenv("PFNM_BENCH_DECISIONS") != nullptr;
  options.on_step = [&](const pfnm::PacerStep& step, std::uint64_t entries) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
    if (chatty)
      std::fprintf(stderr, "%8lld ms %7llu  %-8s batch %4u pause %4lld ms  %s\n", static_cast<long long>(ms),
                   static_cast<unsigned long long>(entries), pfnm::pace_word(step.pace).c_str(), step.batch,
                   static_cast<long long>(step.pause_ms), step.why.c_str());
  };
  auto remover = pfnm::Remover::start(fs, directory, {directory + "/probe"}, options);
  if (!remover.has_value()) {
    std::fprintf(stderr, "%s\n", remover.error().message().c_str());
    return 1;
  }
  const auto report = remover->remove(name);
  if (!report.has_value()) {
    std::fprintf(stderr, "%s\n", report.error().message().c_str());
    return 1;
  }
  if (report->end == pfnm::RemovalEnd::stalled)
    std::fprintf(stderr, "stopped after %llu entries: %s\n", static_cast<unsigned long long>(report->entries),
                 report->why.c_str());
  return report->end == pfnm::RemovalEnd::done ? 0 : 5;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "make" && argc == 5) return make(argv[2], argv[3], std::strtol(argv[4], nullptr, 10));
  if (verb == "remove" && argc == 4) return remove(argv[2], argv[3]);
  std::fprintf(stderr, "usage: bench_remove make DIR NAME ENTRIES | remove DIR NAME\n");
  return 2;
}
