// SPDX-License-Identifier: Apache-2.0
#pragma once

// The ranks of the threads in the study priority.

#include "../schedule.hpp"
#include "../topology.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <string>

namespace lockyard::harness {

struct ranks {
  schedule high;
  schedule hog;
  schedule low;
  schedule rescuer;  ///< as urgent as necessary
  bool are_strict;   ///< higher ranks keep lower ranks off the processor
};

inline constexpr unsigned highest_priority = 99;
inline constexpr int lowest_nice = 19;

/// Real-time policies: the hog has the requested priority, and the high thread the next; the low
/// threads share what is left, under other. By nice: the high thread has the requested value, the
/// low threads the lowest, and the hog is in the middle. Throws condition_error if three ranks do
/// not fit.
inline ranks ranks_under(const schedule& asked) {
  if (asked.is_real_time()) {
    if (asked.priority + 2 > highest_priority) {
      throw condition_error{
          "--priority " + std::to_string(asked.priority) +
          ": the high thread of this study runs one above that and its rescuer two above, "
          "but there is nothing above 99; ask for at most 97"};
    }
    const auto above = [&](unsigned steps) {
      return schedule{.of = asked.of, .priority = asked.priority + steps};
    };
    const schedule low{.of = policy::other, .nice = getpriority(PRIO_PROCESS, 0)};
    return {.high = above(1), .hog = above(0), .low = low, .rescuer = above(2), .are_strict = true};
  }
  if (asked.of != policy::other && asked.of != policy::batch) {
    throw condition_error{"policy " + std::string{name_of(asked.of)} +
                          " has no ranks, so no thread could be high; measure this study under "
                          "fifo, rr, other or batch"};
  }
  if (asked.nice + 2 > lowest_nice) {
    throw condition_error{"nice " + std::to_string(asked.nice) +
                          " leaves no room for the hog and the low threads below it; ask for at "
                          "most 17, or use --policy fifo"};
  }
  const auto with_nice = [&](int nice) {
    schedule found = asked;
    found.nice = nice;
    return found;
  };
  return {.high = asked,
          .hog = with_nice((asked.nice + lowest_nice) / 2),
          .low = with_nice(lowest_nice),
          .rescuer = asked,
          .are_strict = false};
}

}  // namespace lockyard::harness
