// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hash.hpp"

#include <absl/container/flat_hash_set.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

namespace lockyard::model {

/// The states that some execution has reached; shared by all workers.
class state_cache {
 public:
  explicit state_cache(std::size_t memory_bytes)
      : room_{memory_bytes / bytes_of_entry / shards_.size()} {}

  /// Tells whether no execution has been there. A state that does not fit any longer counts as new,
  /// and full() reports it.
  bool insert(const hash128& prefix) {
    shard& part = shards_[prefix.high % shards_.size()];
    const std::scoped_lock guard{part.lock};
    if (part.known.size() >= room_) {
      if (part.known.contains(prefix)) return false;
      // relaxed(hint): read after the workers have ended, or to stop early.
      full_.store(true, std::memory_order_relaxed);
      return true;
    }
    return part.known.insert(prefix).second;
  }

  [[nodiscard]] bool full() const noexcept {
    // relaxed(hint): as above.
    return full_.load(std::memory_order_relaxed);
  }

 private:
  /// Includes the empty places of a table that has just grown, and the old table meanwhile.
  static constexpr std::size_t bytes_of_entry = 56;

  struct alignas(128) shard {
    std::mutex lock;
    absl::flat_hash_set<hash128> known;
  };
  std::array<shard, 64> shards_;
  std::size_t room_;
  std::atomic<bool> full_{false};
};

}  // namespace lockyard::model
