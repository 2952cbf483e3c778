// SPDX-License-Identifier: Apache-2.0
#pragma once

// The companions of the contenders in the study priority: the hog and the rescuer.

#include "../clock.hpp"
#include "ranks.hpp"

#include <lockyard/detail/arch.hpp>

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace lockyard::harness {

/// What the threads of a run tell each other.
class alignas(detail::arch::interference_size) priority_signals {
 public:
  [[nodiscard]] bool is_over() const noexcept {
    // relaxed(hint): a thread that sees it late does one more operation.
    return over_.load(std::memory_order_relaxed);
  }
  void end() noexcept {
    // relaxed(hint): as above.
    over_.store(true, std::memory_order_relaxed);
  }

  /// Called by the high thread before its first wait.
  void introduce(pid_t high_thread) noexcept {
    // relaxed(unpublished): the beginning of a wait publishes it.
    high_thread_.store(high_thread, std::memory_order_relaxed);
  }
  void begin_wait(ticks called) noexcept {
    // order[since]: release; pairs [seen_since]; publishes the id of the waiting thread.
    waiting_since_.store(called, std::memory_order_release);
  }
  void end_wait() noexcept {
    // relaxed(hint): a rescuer that sees it late can only affect the next wait.
    waiting_since_.store(0, std::memory_order_relaxed);
  }
  /// Tells whether the thread was demoted since the last call.
  bool take_demotion() noexcept {
    // relaxed(hint): seen late, the next wait begins below its rank.
    return is_demoted_.exchange(false, std::memory_order_relaxed);
  }

  /// Tells whether it was demoted and still waits: all others stay away until it has the lock.
  [[nodiscard]] bool is_being_rescued() const noexcept {
    // relaxed(hint): a thread that sees it late stays away from its next turn on.
    return is_demoted_.load(std::memory_order_relaxed);
  }
  /// Returns when its wait began, or 0 if it does not wait.
  [[nodiscard]] ticks waits_since() const noexcept {
    // order[seen_since]: acquire; pairs [since]; makes the high thread's id visible.
    return waiting_since_.load(std::memory_order_acquire);
  }
  /// Called by a thread that saw it wait. Returns whether the kernel permitted it.
  bool demote() noexcept;

 private:
  std::atomic<bool> over_{false};
  std::atomic<ticks> waiting_since_{0};
  std::atomic<pid_t> high_thread_{0};
  std::atomic<bool> is_demoted_{false};
};

/// Sleeps for a part of each period, and keeps its processor busy for the rest.
void hog_processor(const priority_signals& on, double share, ticks deadline);

/// Makes the high thread, once it has waited for `after_ns`, run like the low ones until it has the
/// lock, and keeps all threads but the owner away from the lock: a thread that spins above the
/// owner would never end. Returns how often.
std::uint64_t rescue(priority_signals& on, double after_ns, ticks deadline);

/// Called by all but the high thread, before a turn.
void make_way(const priority_signals& on) noexcept;

/// Sleeps for that long, by the system's timer.
void sleep_for_ns(double length_ns) noexcept;

}  // namespace lockyard::harness
