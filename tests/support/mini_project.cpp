#include "tests/support/mini_project.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "nmstore/base/digest.hpp"
#include "tests/support/scratch.hpp"

namespace pfnm::test {
namespace {

std::vector<std::string> npm_environment_of(const std::string& home) {
  const char* path = std::getenv("PATH");
  return {"HOME=" + home, std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin"), "LC_ALL=C"};
}

void must(const RunSpec& spec) {
  const RunResult result = run(spec);
  if (result.rc != 0) throw std::runtime_error(spec.argv[0] + " " + spec.argv[1] + " failed: " + result.all());
}

std::string manifest_of(const std::string& name, const std::string& version, const std::string& more = "") {
  return R"({"name": ")" + name + R"(", "version": ")" + version + R"(", "main": "index.js")" + more + "}\n";
}

void package(const std::string& tgz, const std::string& file, const std::string& name, const std::string& version,
             const std::string& more = "", std::vector<TarballFile> files = {}) {
  files.push_back({"index.js", "module.exports = '" + name + "@" + version + "';\n"});
  make_tarball(tgz + "/" + file + "-" + version + ".tgz", manifest_of(name, version, more), files);
}

void make_packages(const std::string& tgz) {
  package(tgz, "plain-a", "plain-a", "1.0.0", R"(, "dependencies": {"plain-b": "^1.0.0"})",
          {{"lib/deep/file.js", "exports.deep = true;\n"}});
  package(tgz, "plain-a", "plain-a", "2.0.0", R"(, "dependencies": {"plain-b": "^1.0.0"})");
  package(tgz, "plain-b", "plain-b", "1.0.0");
  package(tgz, "scope-one", "@scope/one", "1.0.0");
  package(tgz, "scope-two", "@scope/two", "1.0.0");
  package(tgz, "with-bin", "with-bin", "1.0.0", R"(, "bin": {"with-bin": "bin/with-bin.js"})",
          {{"bin/with-bin.js", "#!/usr/bin/env node\nconsole.log('with-bin runs');\n"}});
  package(tgz, "with-script", "with-script", "1.0.0", R"(, "scripts": {"install": "node make.js"})",
          {{"make.js", "require('fs').writeFileSync('built.txt', 'built here\\n');\n"}});
  package(tgz, "needs-ws", "needs-ws", "1.0.0", R"(, "dependencies": {"ws-a": "1.0.0"})",
          {{"uses.js", "module.exports = require('ws-a');\n"}});
  package(tgz, "needs-ws", "needs-ws", "2.0.0", R"(, "dependencies": {"ws-a": "1.0.0"})",
          {{"uses.js", "module.exports = require('ws-a');\n"}});
  package(tgz, "x", "x", "1.0.0");
  package(tgz, "x", "x", "2.0.0");
  package(tgz, "extra", "extra", "1.0.0");
}

std::string dependency(const std::string& name, const std::string& file) {
  return "\"" + name + "\": \"file:tgz/" + file + ".tgz\"";
}

std::string root_manifest(const std::vector<std::string>& dependencies) {
  // A key of this process's own: an install is in use where any process has a file open below a directory of its name,
  // and other tests do.
  std::string text = R"({"name": "mini", "version": "1.0.)" + std::to_string(::getpid()) + R"(", "private": true, "workspaces": ["packages/*"],
  "scripts": {"hello": "with-bin", "tool": "ws-tool", "postinstall": "node -e \"require('fs').writeFileSync('root-script-ran','')\""},
  "dependencies": {)";
  for (std::size_t i = 0; i < dependencies.size(); ++i) text += (i == 0 ? "" : ", ") + dependencies[i];
  return text + "}}\n";
}

void make_source(const std::string& source, const std::string& tgz, const std::string& manifest) {
  copy_tree(tgz, source + "/tgz");
  write_text(source + "/package.json", manifest);
  write_text(source + "/.gitignore", "node_modules/\n");
  write_text(source + "/packages/a/package.json",
             R"({"name": "ws-a", "version": "1.0.0", "main": "index.js", "dependencies": {"x": "file:../../tgz/x-2.0.0.tgz"}})"
             "\n");
  write_text(source + "/packages/a/index.js", "module.exports = 'ws-a of ' + __dirname;\n");
  write_text(source + "/packages/b/package.json",
             R"({"name": "@mini/ws-b", "version": "1.0.0", "bin": {"ws-tool": "cli.js"}})"
             "\n");
  write_text(source + "/packages/b/cli.js", "#!/usr/bin/env node\nconsole.log('ws-tool in ' + __dirname);\n", 0644);
}

// npm can make the lock offline only from manifests that name the tarballs; a usual project asks for versions, and its
// lock alone says where the tarballs are.
void ask_for_versions(const std::string& source) {
  for (const char* name : {"/package.json", "/packages/a/package.json", "/package-lock.json"}) {
    std::string text = read_text(source + name);
    for (std::size_t at = 0; (at = text.find("\"file:", at)) != std::string::npos;) {
      const auto end = text.find('"', at + 1);
      const std::string spec = text.substr(at + 1, end - at - 1);
      const bool resolved = text.substr(0, at).ends_with("\"resolved\": ");
      const std::string version = spec.substr(spec.size() - 9, 5);  // "...-1.0.0.tgz"
      if (!resolved) text.replace(at + 1, end - at - 1, version);
      at = text.find('"', at + 1) + 1;
    }
    write_text(source + name, text);
  }
}

ProjectVersion finish_version(const std::string& directory, const std::vector<std::string>& environment) {
  ProjectVersion version{directory + "/source", directory + "/plain"};
  must({{"npm", "install", "--package-lock-only", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"},
        environment,
        version.source});
  ask_for_versions(version.source);
  copy_tree(version.source, version.plain);
  must({{"npm", "ci", "--offline", "--no-audit", "--no-fund"}, environment, version.plain});
  return version;
}

MiniProject make_mini_project() {
  const std::string base = process_scratch().base + "/mini";
  write_text(base + "/home/.npmrc", "offline=true\naudit=false\nfund=false\nupdate-notifier=false\n");
  make_packages(base + "/tgz");
  const auto environment = npm_environment_of(base + "/home");
  make_source(base + "/first/source", base + "/tgz",
              root_manifest({dependency("plain-a", "plain-a-1.0.0"), dependency("plain-b", "plain-b-1.0.0"),
                             dependency("@scope/one", "scope-one-1.0.0"), dependency("@scope/two", "scope-two-1.0.0"),
                             dependency("with-bin", "with-bin-1.0.0"), dependency("with-script", "with-script-1.0.0"),
                             dependency("needs-ws", "needs-ws-1.0.0"), dependency("x", "x-1.0.0")}));
  make_source(base + "/second/source", base + "/tgz",
              root_manifest({dependency("plain-a", "plain-a-2.0.0"), dependency("plain-b", "plain-b-1.0.0"),
                             dependency("@scope/two", "scope-two-1.0.0"), dependency("extra", "extra-1.0.0"),
                             dependency("with-script", "with-script-1.0.0"), dependency("needs-ws", "needs-ws-2.0.0"),
                             dependency("x", "x-1.0.0")}));
  return {finish_version(base + "/first", environment), finish_version(base + "/second", environment)};
}

void write_fake_node(const std::string& path) {
  write_text(path,
             "#!/bin/sh\n# Only the question that pfnm asks of node.\n"
             "[ \"$1\" = -e ] || exit 99\n"
             "printf '20.0.0\\n115\\nlinux\\nx64\\n2.36\\n%s\\n' \"$0\"\n",
             0755);
}

void write_fake_npm(const std::string& path) {
  write_text(path,
             "#!/bin/sh\n"
             "base=$(dirname \"$(dirname \"$0\")\")\n"
             "case \"$1\" in\n"
             "--version) echo 11.0.0 ;;\n"
             "config) printf 'userconfig=%s/.npmrc\\nglobalconfig=%s/etc/npmrc\\n' \"$HOME\" \"$base\" ;;\n"
             "ci)\n"
             "  echo ci >> \"$base/log\"\n"
             "  if [ -f \"$base/failure\" ]; then cat \"$base/failure\"; exit 1; fi\n"
             "  sum=$(sha256sum < package-lock.json)\n"
             "  cp -a \"$base/trees/${sum%% *}/.\" . ;;\n"
             "*) exit 99 ;;\n"
             "esac\n",
             0755);
}

// Only what `npm ci` adds where the workspaces hold nothing but their manifests, as in a build directory: no link to a
// workspace's binary.
void add_tree(const std::string& trees, const ProjectVersion& version) {
  const std::string tree = trees + "/" + sha256(read_text(version.source + "/package-lock.json")).to_hex();
  make_dirs(tree + "/packages/a");
  copy_tree(version.plain + "/node_modules", tree + "/node_modules");
  delete_tree(tree + "/node_modules/.bin/ws-tool");
  copy_tree(version.plain + "/packages/a/node_modules", tree + "/packages/a/node_modules");
}

}  // namespace

const MiniProject& mini_project() {
  static const MiniProject project = make_mini_project();
  return project;
}

void make_tarball(const std::string& tarball, const std::string& manifest, const std::vector<TarballFile>& files) {
  const std::string stage = tarball + ".stage";
  write_text(stage + "/package/package.json", manifest);
  for (const TarballFile& file : files)
    write_text(stage + "/package/" + file.path, file.text, file.text.starts_with("#!") ? 0755 : 0644);
  must({{"tar", "-C", stage, "--sort=name", "--mtime=@1000000000", "--owner=0", "--group=0", "-czf", tarball, "package"},
        npm_environment_of("/"),
        "/"});
  delete_tree(stage);
}

FakeTools::FakeTools(const std::string& directory) : directory_(directory) {
  write_fake_node(bin() + "/node");
  write_fake_npm(bin() + "/npm");
  add_tree(directory_ + "/trees", mini_project().first);
  add_tree(directory_ + "/trees", mini_project().second);
}

std::string FakeTools::path() const { return bin() + ":/usr/local/bin:/usr/bin:/bin"; }

std::size_t FakeTools::builds() const {
  const std::string text = read_text(directory_ + "/log");
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void FakeTools::forget_builds() const { delete_tree(directory_ + "/log"); }

void FakeTools::fail_with(const std::string& output) const {
  delete_tree(directory_ + "/failure");
  if (!output.empty()) write_text(directory_ + "/failure", output);
}

}  // namespace pfnm::test
