// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the studies have in common that count operations and read no clock around the lock.

#include "closing_time.hpp"
#include "ownership.hpp"
#include "studies/studies.hpp"
#include "subject.hpp"
#include "team.hpp"
#include "work.hpp"

#include <functional>

namespace lockyard::harness {

/// Runs the loop on a team of which each thread has first tried the lock that the starter holds.
team_run run_team_on(const job& of, refusal_check& refusal,
                     std::function<thread_span(unsigned thread, loop_limit limit)> loop);

/// What one thread does in those of which each thread holds the lock and stays away for given
/// times.
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
    state.enter(thread);
    work.hold();
    lock.unlock();
  }
  span.last = clock::now();
  return span;
}

/// The values of every such study, and no check. `shared` is what the lock protects that all
/// threads want; null if who holds that lock writes nothing.
outcome rate_outcome(const job& of, const team_run& run, const ownership* shared,
                     unsigned acquisitions_per_operation = 1);

}  // namespace lockyard::harness
