#include "bench/scenario/stand_in.hpp"

#include <fcntl.h>

#include <cstdio>

#include "bench/support/synthetic.hpp"
#include "nmstore/platform/fs.hpp"
#include "nmstore/platform/os.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/line_file.hpp"

namespace pfnm::bench {
namespace {

constexpr const char* k_files_file = "files-per-package";

std::string file_content(const LockLine& package, std::size_t number) {
  std::string text = "// " + package.path + " " + package.version + " " + std::to_string(number) + "\n";
  const std::size_t lines = 5 + number * 7 % 60;
  for (std::size_t i = 0; i < lines; ++i)
    text += "exports.value" + std::to_string(i) + " = " + std::to_string(i) + ";\n";
  return text;
}

// A quarter of the files each in the package, lib, lib/internal and dist.
Status write_package(const Fs& fs, const LockLine& package, std::size_t files) {
  PFNM_TRY(fs.ensure_dirs(package.path));
  const std::string name = package.path.substr(package.path.rfind("node_modules/") + 13);
  PFNM_TRY(fs.create_file(AT_FDCWD, package.path + "/package.json",
                          "{\"name\": \"" + name + "\", \"version\": \"" + package.version + "\"}\n"));
  if (package.has_bin) PFNM_TRY(fs.create_file(AT_FDCWD, package.path + "/bin.js", "#!/usr/bin/env node\n", 0755));
  const char* const directories[] = {"", "/lib", "/lib/internal", "/dist"};
  for (const char* directory : directories) PFNM_TRY(fs.ensure_dirs(package.path + directory));
  for (std::size_t i = 0; i < files; ++i) {
    const std::string path = package.path + directories[i % 4] + "/f" + std::to_string(i) + ".js";
    PFNM_TRY(fs.create_file(AT_FDCWD, path, file_content(package, i)));
  }
  if (!package.has_bin || package.path.rfind("node_modules/") != 0) return {};
  PFNM_TRY(fs.ensure_dirs("node_modules/.bin"));
  return fs.make_symlink("../" + name + "/bin.js", AT_FDCWD, "node_modules/.bin/" + name);
}

Status install(std::size_t files) {
  const Fs fs;
  PFNM_TRY_ASSIGN(const std::string lock, read_file(AT_FDCWD, "package-lock.json"));
  for (const LockLine& package : scan_lock(lock)) PFNM_TRY(write_package(fs, package, files));
  return fs.create_file(AT_FDCWD, "node_modules/.package-lock.json", hidden_lock(lock));
}

}  // namespace

Status make_toolchain(const std::string& directory, std::size_t files_per_package) {
  const Fs fs;
  PFNM_TRY_ASSIGN(const std::string self, os::self_path());
  PFNM_TRY(fs.ensure_dirs(directory));
  PFNM_TRY(fs.create_file(AT_FDCWD, directory + "/" + k_files_file, std::to_string(files_per_package)));
  for (const char* name : {"node", "npm"}) PFNM_TRY(fs.make_symlink(self, AT_FDCWD, directory + "/" + name));
  return {};
}

int run_as_node() {
  const auto self = os::self_path();
  if (!self.has_value()) return 1;
  std::printf("20.0.0\n115\nlinux\nx64\n2.36\n%s\n", self->c_str());
  return 0;
}

int run_as_npm(const std::string& invoked_as, const std::vector<std::string>& arguments) {
  const std::string verb = arguments.empty() ? "" : arguments[0];
  if (verb == "--version") {
    std::puts("10.0.0");
    return 0;
  }
  if (verb == "config") {
    std::puts("userconfig=/nonexistent/.npmrc\nglobalconfig=/nonexistent/npmrc");
    return 0;
  }
  if (verb != "ci") return 2;
  const auto text = find_file(AT_FDCWD, invoked_as.substr(0, invoked_as.find_last_of('/') + 1) + k_files_file);
  const auto files = text.has_value() && *text ? parse_u64(**text) : std::nullopt;
  const Status done = install(files.value_or(10));
  if (!done.has_value()) std::fprintf(stderr, "npm error %s\n", done.error().message().c_str());
  return done.has_value() ? 0 : 1;
}

}  // namespace pfnm::bench
