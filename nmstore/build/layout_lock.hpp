// The hidden lock of a links layout: truthful, so that `npm ls --all` answers as in a plain install (SPEC 3.6), and the
// same for every worktree of an install. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nmstore/base/result.hpp"
#include "nmstore/lock/npm_lock.hpp"
#include "nmstore/store/manifest.hpp"

namespace pfnm {

// What render_layout_lock works from.
struct LayoutLockInputs {
  std::string_view hidden;     // text of node_modules/.package-lock.json as npm wrote it in the install
  const NpmLock& lock;
  const ManifestView& manifest;
  const std::vector<std::string>& copied;  // of copied_packages
  std::string_view overrides;  // of the root's package.json, as JSON; "" for none
};

// Packages that npm lists in its hidden lock and did not install (extraneous ones without a parent) are left out: npm
// itself would distrust the file for them. Where an override put a version that the dependent does not ask for, its
// range is written as that version: npm 10 does not carry overrides through a link.
[[nodiscard]] Result<std::string> render_layout_lock(const LayoutLockInputs& inputs);

// npm's hidden lock says of a workspace whether it has install scripts. A build strips them from the manifests, so npm
// does not see them: the lock's word is put back, where npm would have written it.
[[nodiscard]] Result<std::string> with_workspace_scripts(std::string_view hidden, std::string_view lock);

}  // namespace pfnm
