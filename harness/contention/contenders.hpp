// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threads of the study contention, which work with and without a lock in random intervals, and
// the amount of work that they get done together.

#include "../closing_time.hpp"
#include "../loops/native.hpp"
#include "../loops/rate.hpp"
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

/// A contender in its loop, with copies of what it changes in every turn.
template <class Held>
struct contention_contender : loops::native_contender {
  bool goes_on() noexcept {
    return span.operations < limit.operations && !on.closing.has_come(span.operations, limit.end);
  }
  void stay_away() noexcept {
    turn = turns.take();
    own.draws.work(turn.gap_steps);
  }
  void add_wait(ticks called, ticks acquired) noexcept { waited += elapsed(called, acquired); }
  void enter() noexcept { on.state.enter(thread); }
  void hold() { work_held(turn.hold_steps); }
  void complete() noexcept {
    free_units += turn.gap_steps;
    held_units += turn.hold_steps;
    ++span.operations;
  }
  void keep() const noexcept {
    own.free_units = free_units;
    own.held_units = held_units;
    own.waited = waited;
  }

  const contended& on;
  contender& own;
  Held work_held;
  unsigned thread;
  loop_limit limit;
  worker turns = own.turns;
  worker::turn turn{};
  std::uint64_t free_units = 0;
  std::uint64_t held_units = 0;
  ticks waited = 0;
};

/// Runs one thread; `work_held(units)` is the work that needs the lock.
template <class Lock, bool ReadsClock, class Held>
thread_span contention_loop(const contended& on, contender& self, Held work_held, unsigned thread,
                            loop_limit limit) {
  thread_span span{.first = clock::now()};
  contention_contender<Held> running{{span}, on, self, work_held, thread, limit};
  loops::take_turns<ReadsClock>(*static_cast<Lock*>(on.lock), running);
  span.last = clock::now();
  running.keep();
  return span;
}

/// Returns the values that the study and its preset have.
outcome contenders_outcome(const job& of, const team_run& run, const ownership& state,
                           const contenders& all, const interval& between, const unit_costs& costs);

}  // namespace lockyard::harness
