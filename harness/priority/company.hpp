// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who is beside the threads that want the lock, in the study of priorities.

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
    // relaxed(hint): who sees it late does one more operation.
    return over_.load(std::memory_order_relaxed);
  }
  void end() noexcept {
    // relaxed(hint): as above.
    over_.store(true, std::memory_order_relaxed);
  }

  /// By the high thread, before its first wait.
  void introduce(pid_t high_thread) noexcept {
    // relaxed(unpublished): the beginning of a wait publishes it.
    high_thread_.store(high_thread, std::memory_order_relaxed);
  }
  void begin_wait(ticks called) noexcept {
    // order[since]: release; pairs [seen_since]; who waits has been said before.
    waiting_since_.store(called, std::memory_order_release);
  }
  void end_wait() noexcept {
    // relaxed(hint): a rescuer that sees it late does no harm but to the next wait.
    waiting_since_.store(0, std::memory_order_relaxed);
  }
  /// Whether it was demoted since it asked last.
  bool take_demotion() noexcept {
    // relaxed(hint): seen late, the next wait begins below its rank.
    return is_demoted_.exchange(false, std::memory_order_relaxed);
  }

  /// Whether it was demoted and waits still: all others are to stay away until it has the lock.
  [[nodiscard]] bool is_being_rescued() const noexcept {
    // relaxed(hint): who sees it late stays away from the next turn on.
    return is_demoted_.load(std::memory_order_relaxed);
  }
  /// 0: it does not wait.
  [[nodiscard]] ticks waits_since() const noexcept {
    // order[seen_since]: acquire; pairs [since]; the high thread has said who it is.
    return waiting_since_.load(std::memory_order_acquire);
  }
  /// By whoever has seen it wait. Whether the kernel let it.
  bool demote() noexcept;

 private:
  std::atomic<bool> over_{false};
  std::atomic<ticks> waiting_since_{0};
  std::atomic<pid_t> high_thread_{0};
  std::atomic<bool> is_demoted_{false};
};

/// Sleeps for a part of each period, and keeps its processor for the share that is left.
void hog_processor(const priority_signals& on, double share, ticks deadline);

/// Lets the high thread, where it has waited for so long, run as the low ones do until it has the
/// lock, and keeps all but the owner away from it: one that spins above the owner would never end.
/// Returns how often.
std::uint64_t rescue(priority_signals& on, double after_ns, ticks deadline);

/// By all but the high thread, before a turn.
void make_way(const priority_signals& on) noexcept;

/// Sleeps for so long, by the system's timer.
void sleep_for_ns(double length_ns) noexcept;

}  // namespace lockyard::harness
