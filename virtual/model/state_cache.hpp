// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "records.hpp"
#include "shared_memory.hpp"

#include <absl/container/flat_hash_map.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

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

  /// Tells whether the search goes on from the state: no execution has been there, or none after as
  /// many steps back. A state that does not fit any longer counts as new, and full() reports it.
  bool insert(const reached_state& reached) {
    const auto [low, high] = reached.name;
    const short_name name{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32U),
                          static_cast<std::uint32_t>(high)};
    shard& part = *books_->shards[(high >> 32U) % shard_count];
    const std::scoped_lock guard{part.lock};
    const auto known = part.known.find(name);
    if (known != part.known.end()) {
      if (known->second >= reached.steps_back) return false;
      known->second = reached.steps_back;
      return true;
    }
    if (part.known.size() >= room_) {
      // relaxed(hint): read after the workers have ended, or to stop early.
      books_->full.store(true, std::memory_order_relaxed);
      return true;
    }
    part.known.emplace(name, reached.steps_back);
    return true;
  }

  [[nodiscard]] bool full() const noexcept {
    // relaxed(hint): as above.
    return books_->full.load(std::memory_order_relaxed);
  }

 private:
  /// Includes the empty places of a table that has just grown, and the old table meanwhile.
  static constexpr std::size_t bytes_of_entry = 56;
  static constexpr std::size_t shard_count = 64;

  /// 96 bits, besides those that choose the shard: an entry fits into 16 bytes.
  using short_name = std::array<std::uint32_t, 3>;

  struct alignas(128) shard {
    using entry = std::pair<const short_name, std::uint32_t>;

    explicit shard(shared_pool& pool) : known{shared_allocator<entry>{pool}} {}

    process_mutex lock;
    /// For each known state, the most steps back after which an execution was there.
    absl::flat_hash_map<short_name, std::uint32_t, absl::Hash<short_name>,
                        std::equal_to<short_name>, shared_allocator<entry>>
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
