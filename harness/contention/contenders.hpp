// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threads of the study contention, which work with and without a lock in random intervals, and
// the amount of work that they get done together.

#include "../closing_time.hpp"
#include "../ownership.hpp"
#include "../rate.hpp"
#include "../subject.hpp"
#include "../team.hpp"
#include "../work.hpp"
#include "units.hpp"

#include <lockyard/detail/arch.hpp>

#include <cstdint>
#include <vector>

namespace lockyard::harness {

/// The interval of a thread between two acquisitions, on average.
struct interval {
  double mean_ns;  ///< mean length of all work, with and without the lock
  double share;    ///< of the work that needs the lock, from 0 to 1

  [[nodiscard]] double held_ns() const noexcept { return mean_ns * share; }
  [[nodiscard]] double free_ns() const noexcept { return mean_ns - held_ns(); }
  /// Returns how often to read the clock.
  [[nodiscard]] work_request as_work() const noexcept {
    return {.hold_ns = held_ns(), .gap_ns = free_ns(), .kind = lengths::exponential};
  }
};

/// The time of a unit for one thread that does nothing else.
struct unit_costs {
  double free_ns;  ///< without the lock
  double held_ns;  ///< with the lock
};

/// One thread's work: how much comes next, and how much was done.
struct alignas(detail::arch::interference_size) contender {
  worker turns;
  drawing draws;
  std::uint64_t free_units = 0;
  std::uint64_t held_units = 0;
  ticks waited = 0;
};

class contenders {
 public:
  contenders(const interval& of, const unit_costs& costs, unsigned threads, std::uint64_t seed);

  [[nodiscard]] contender& member(unsigned thread) noexcept { return members_[thread]; }
  [[nodiscard]] std::uint64_t units() const noexcept;
  [[nodiscard]] std::uint64_t held_units() const noexcept;
  /// Returns the time that one thread would need for all of it.
  [[nodiscard]] double work_ns() const noexcept;
  /// Returns the share of the threads' time between the call and the acquisition.
  [[nodiscard]] double waiting_share(const team_run& run) const noexcept;

 private:
  unit_costs costs_;
  std::vector<worker::turn> tables_;
  std::vector<contender> members_;
};

/// The lock, the data that it protects, and the end of the run.
struct contended {
  void* lock;
  ownership& state;
  closing_time& closing;
};

/// Runs one thread; `work_held(units)` is the work that needs the lock.
template <class Lock, bool ReadsClock, class Held>
thread_span contention_loop(const contended& on, contender& self, Held work_held, unsigned thread,
                            loop_limit limit) {
  Lock& lock = *static_cast<Lock*>(on.lock);
  worker turns = self.turns;
  std::uint64_t free_units = 0;
  std::uint64_t held_units = 0;
  ticks waited = 0;
  thread_span span{.first = clock::now()};
  for (; span.operations < limit.operations && !on.closing.has_come(span.operations, limit.end);
       ++span.operations) {
    const worker::turn turn = turns.take();
    self.draws.work(turn.gap_steps);
    if constexpr (ReadsClock) {
      const ticks called = clock::now_early();
      lock.lock();
      waited += elapsed(called, clock::now());
    } else {
      lock.lock();
    }
    on.state.enter(thread);
    work_held(turn.hold_steps);
    lock.unlock();
    free_units += turn.gap_steps;
    held_units += turn.hold_steps;
  }
  span.last = clock::now();
  self.free_units = free_units;
  self.held_units = held_units;
  self.waited = waited;
  return span;
}

/// Returns the values that the study and its preset have.
outcome contenders_outcome(const job& of, const team_run& run, const ownership& state,
                           const contenders& all, const interval& between, const unit_costs& costs);

}  // namespace lockyard::harness
