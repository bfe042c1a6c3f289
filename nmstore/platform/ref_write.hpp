// A ref write as git's files backend does it (refs/files-backend.c): create <ref>.lock exclusively, write the object id,
// close, rename over <ref>. By default git does not fsync refs; `Durable::yes` does, the file's and the directory's.
#pragma once

#include <string>
#include <string_view>

#include "nmstore/platform/fs.hpp"

namespace pfnm {

// Returns 0 or an errno; EEXIST: somebody holds the lock. Nothing but these system calls, so that the time it takes is
// the time that git would take.
[[nodiscard]] int write_ref_file(const std::string& directory, const std::string& ref, std::string_view value,
                                 Durable durable);

}  // namespace pfnm
