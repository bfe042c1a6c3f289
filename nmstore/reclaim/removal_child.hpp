// The child's side of the remover, and what the two say to each other.
#pragma once

#include <cstdint>
#include <string>

#include "nmstore/platform/fs.hpp"
#include "nmstore/platform/worker.hpp"

namespace pfnm {

enum class RemovalOrder : std::uint32_t { remove, batch, sync };
struct RemovalRequest {
  RemovalOrder order = RemovalOrder::batch;
  std::uint32_t size = 0;       // remove: bytes of the name that follows; batch: entries
  std::uint32_t longest_ms = 0; // batch
};

enum class RemovalState : std::uint32_t { more, done, synced };
struct RemovalAnswer {
  RemovalState state = RemovalState::more;
  std::uint32_t unlinked = 0;   // in this batch
  std::uint32_t took_ms = 0;
  std::uint32_t left_bytes = 0; // done: size of the text that follows, one line for each thing left
};

// Serves until the parent is gone.
void serve_removals(const Fs& fs, const std::string& directory, const WorkerChannel& channel);

}  // namespace pfnm
