// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which threads wait for which swapped mutex, for `lockyard hang`. A lock that sleeps in the
// parking lot waits for a word of its node, from which the mutex cannot be told. The table is found
// from outside by its symbol: src/lockyard/field_kit/swapped_waits.py.

#include "../glibc.hpp"

namespace lockyard::preload {

struct published_wait_slot {
  std::atomic<std::int32_t> thread;
  std::atomic<std::uint32_t> unused;
  std::atomic<const void*> mutex;  ///< null: the thread does not wait
};
inline constexpr std::uint32_t published_slots = 4096;

extern "C" {
/// Threads share a slot if there are more than slots; then the last one is told.
[[gnu::visibility(
    "default")]] extern constinit published_wait_slot lockyard_swapped_waits[published_slots];
}

/// Publishes a wait of the calling thread.
class wait_publication {
 public:
  static void begin(const void* mutex) noexcept {
    published_wait_slot& slot = own();
    // relaxed(hint): a reader outside compares the id, and reads twice.
    slot.thread.store(thread_id(), std::memory_order_relaxed);
    // relaxed(hint): as above.
    slot.mutex.store(mutex, std::memory_order_relaxed);
  }
  static void end() noexcept {
    // relaxed(hint): as above.
    own().mutex.store(nullptr, std::memory_order_relaxed);
  }

 private:
  static published_wait_slot& own() noexcept {
    // relaxed(atomicity): each thread gets a number of its own.
    if (number_ == 0) number_ = 1 + next_.fetch_add(1, std::memory_order_relaxed);
    return lockyard_swapped_waits[(number_ - 1) % published_slots];
  }

  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local std::uint32_t number_ = 0;
  static inline constinit std::atomic<std::uint32_t> next_{0};
};

}  // namespace lockyard::preload
