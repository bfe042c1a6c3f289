// The one way to an install: use the sealed one, wait for whoever builds it, or build it (SPEC 2.3, 2.4).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/build/npm_builder.hpp"
#include "nmstore/build/resolve.hpp"
#include "nmstore/store/seal.hpp"

namespace pfnm {

enum class WriteBack { background, wait, off };

// What the caller shows while it takes long; every member may be empty.
struct BuildProgress {
  std::function<void(const std::string& text)> note;  // a new phase, in words
  std::function<void()> tick;                         // still at it
  std::function<void(std::uint64_t done, std::uint64_t total)> count;
};

enum class Anew { no, yes };  // yes: what is there goes to the trash first

struct BuildOptions {
  int max_builds = 2;  // at once, in this store (pfnm.maxBuilds)
  WriteBack write_back = WriteBack::background;
  ScriptTrust trust = ScriptTrust::all;
  Anew anew = Anew::no;
  BuildProgress progress;
};

enum class InstallOrigin { found, waited, built };
struct EnsuredInstall {
  InstallName name;
  Seal seal;
  InstallOrigin origin = InstallOrigin::found;
};

// The caller holds a lease on the install. Errors: Errc::foreign where something that pfnm did not make has the name,
// Errc::no_space, Errc::failed_child (npm), and what the file system says; nothing is published then.
[[nodiscard]] Result<EnsuredInstall> ensure_install(const ResolveContext& context, const Resolution& resolution,
                                                    const BuildOptions& options);

}  // namespace pfnm
