// A small npm project that needs no network: tarballs made on the spot and a lock that npm itself writes offline. Two
// versions of it, each with the tree a plain `npm ci` makes. Made once per process.
//
//   root "mini"            plain-a -> plain-b, @scope/one, with-bin (bin/with-bin.js), with-script (its install script
//                          writes built.txt), x 1.0.0, needs-ws -> ws-a (so it must be a copy)
//   packages/a "ws-a"      -> x 2.0.0: packages/a/node_modules/x
//   packages/b "@mini/ws-b" bin ws-tool (cli.js, mode 0644)
//
// The second version: plain-a 2.0.0, needs-ws 2.0.0, `extra` added, with-bin and @scope/one gone.
#pragma once

#include <string>
#include <vector>

namespace pfnm::test {

struct ProjectVersion {
  std::string source;  // the project's files, no node_modules
  std::string plain;   // the same after `npm ci`
};

struct MiniProject {
  ProjectVersion first;
  ProjectVersion second;
};
[[nodiscard]] const MiniProject& mini_project();

// A tarball of one package: its package.json and files by path ("name" -> text); a text that starts with "#!" is
// executable.
struct TarballFile {
  std::string path;
  std::string text;
};
void make_tarball(const std::string& tarball, const std::string& manifest, const std::vector<TarballFile>& files);

// node and npm that answer at once: `ci` fills node_modules from the plain tree of the version whose lock is there, and
// leaves a line in `log()`.
class FakeTools {
 public:
  explicit FakeTools(const std::string& directory);
  [[nodiscard]] std::string bin() const { return directory_ + "/bin"; }
  [[nodiscard]] std::string path() const;  // a PATH with the fakes in front
  [[nodiscard]] std::size_t builds() const;  // times that `npm ci` was run
  void forget_builds() const;
  // From now on `npm ci` prints this and exits with 1; "" mends it.
  void fail_with(const std::string& output) const;

 private:
  std::string directory_;
};

}  // namespace pfnm::test
