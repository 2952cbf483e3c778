// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "duration.hpp"

namespace lockyard::simulation {

class engine;

/// The threads of other programs: each sleeps for an exponential time, then works for a time from a
/// bounded Pareto distribution, so that bursts of all magnitudes occur.
struct background {
  int threads = 0;
  int groups = 1;           ///< terminals and sessions, in which autogroup places threads
  double bursts_per_s = 0;  ///< all threads together
  double least_us = 5, most_us = 20'000;
  double shape = 1;  ///< the probability of a burst longer than x falls as x to the power -shape
};

void add_background(engine& to, const background& of);

}  // namespace lockyard::simulation
