// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the studies have in common that count operations and read no clock around the lock.

#include "ownership.hpp"
#include "studies/studies.hpp"
#include "subject.hpp"
#include "team.hpp"

#include <functional>

namespace lockyard::harness {

/// Runs the loop on a team of which each thread has first tried the lock that the starter holds.
team_run run_team_on(const job& of, refusal_check& refusal,
                     std::function<thread_span(unsigned thread, loop_limit limit)> loop);

/// The values of every such study, and no check. `shared` is what the lock protects that all
/// threads want; null if who holds that lock writes nothing.
outcome rate_outcome(const job& of, const team_run& run, const ownership* shared,
                     unsigned acquisitions_per_operation = 1);

}  // namespace lockyard::harness
