// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common part of studies that count operations and read no clock around the lock.

#include "closing_time.hpp"
#include "loops/native.hpp"
#include "loops/rate.hpp"
#include "ownership.hpp"
#include "study.hpp"
#include "subject.hpp"
#include "team.hpp"
#include "work.hpp"

#include <functional>

namespace lockyard::harness {

/// Runs the loop on a team whose threads have first tried the lock while the starter holds it.
team_run run_team_on(const job& of, refusal_check& refusal,
                     std::function<thread_span(unsigned thread, loop_limit limit)> loop);

/// One thread's loop in studies whose threads hold the lock and stay away for given times.
using rate_loop = thread_span(void* place, ownership& state, closing_time& closing, worker work,
                              unsigned thread, loop_limit limit);

/// A contender in that loop. A lock that counts by itself protects nothing else.
template <class Lock>
struct rate_contender : loops::native_contender {
  bool goes_on() noexcept {
    return span.operations < limit.operations && !closing.has_come(span.operations, limit.end);
  }
  void stay_away() noexcept { work.stay_away(); }
  void enter() noexcept {
    if constexpr (!requires { Lock::counts_by_itself; }) state.enter(thread);
  }
  void hold() noexcept { work.hold(); }
  void complete() noexcept { ++span.operations; }

  ownership& state;
  closing_time& closing;
  worker work;
  unsigned thread;
  loop_limit limit;
};

template <class Lock>
[[gnu::noinline]] thread_span rate_loop_of(void* place, ownership& state, closing_time& closing,
                                           worker work, unsigned thread, loop_limit limit) {
  thread_span span{.first = clock::now()};
  rate_contender<Lock> self{{span}, state, closing, work, thread, limit};
  loops::take_turns<false>(*static_cast<Lock*>(place), self);
  span.last = clock::now();
  return span;
}

/// Returns the values of every such study, without checks. `shared` is the data protected by the
/// lock that all threads want; null if the holder of that lock writes nothing.
outcome rate_outcome(const job& of, const team_run& run, const ownership* shared,
                     unsigned acquisitions_per_operation = 1);

}  // namespace lockyard::harness
