// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hash.hpp"
#include "shared_memory.hpp"

#include <absl/container/flat_hash_set.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>

namespace lockyard::model {

/// The states that some execution has reached; shared by all workers, which may be processes.
class state_cache {
 public:
  explicit state_cache(std::size_t memory_bytes)
      : room_{memory_bytes / bytes_of_entry / shard_count},
        // Each table that a shard has had is half as large as the next one.
        pool_{2 * memory_bytes + (std::size_t{1} << 20U)} {
    for (auto& each : books_->shards) each.emplace(pool_);
  }

  /// Tells whether no execution has been there. A state that does not fit any longer counts as new,
  /// and full() reports it.
  bool insert(const hash128& prefix) {
    shard& part = *books_->shards[prefix.high % shard_count];
    const std::scoped_lock guard{part.lock};
    if (part.known.size() >= room_) {
      if (part.known.contains(prefix)) return false;
      // relaxed(hint): read after the workers have ended, or to stop early.
      books_->full.store(true, std::memory_order_relaxed);
      return true;
    }
    return part.known.insert(prefix).second;
  }

  [[nodiscard]] bool full() const noexcept {
    // relaxed(hint): as above.
    return books_->full.load(std::memory_order_relaxed);
  }

 private:
  /// Includes the empty places of a table that has just grown, and the old table meanwhile.
  static constexpr std::size_t bytes_of_entry = 56;
  static constexpr std::size_t shard_count = 64;

  struct alignas(128) shard {
    explicit shard(shared_pool& pool) : known{shared_allocator<hash128>{pool}} {}

    process_mutex lock;
    absl::flat_hash_set<hash128, absl::Hash<hash128>, std::equal_to<hash128>,
                        shared_allocator<hash128>>
        known;
  };
  struct books {
    std::array<std::optional<shard>, shard_count> shards;
    std::atomic<bool> full{false};
  };

  std::size_t room_;
  shared_pool pool_;
  shared<books> books_;
};

}  // namespace lockyard::model
