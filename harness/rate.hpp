// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common part of studies that count operations and read no clock around the lock.

#include "closing_time.hpp"
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

template <class Lock>
[[gnu::noinline]] thread_span rate_loop_of(void* place, ownership& state, closing_time& closing,
                                           worker work, unsigned thread, loop_limit limit) {
  Lock& lock = *static_cast<Lock*>(place);
  thread_span span{.first = clock::now()};
  for (; span.operations < limit.operations && !closing.has_come(span.operations, limit.end);
       ++span.operations) {
    work.stay_away();
    lock.lock();
    if constexpr (!requires { Lock::counts_by_itself; }) state.enter(thread);
    work.hold();
    lock.unlock();
  }
  span.last = clock::now();
  return span;
}

/// Returns the values of every such study, without checks. `shared` is the data protected by the
/// lock that all threads want; null if the holder of that lock writes nothing.
outcome rate_outcome(const job& of, const team_run& run, const ownership* shared,
                     unsigned acquisitions_per_operation = 1);

}  // namespace lockyard::harness
