// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who outranks whom in the study of priorities.

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
  schedule rescuer;  ///< as urgent as there is need for
  bool are_strict;   ///< whoever is above keeps those below off the processor
};

inline constexpr unsigned highest_priority = 99;
inline constexpr int lowest_nice = 19;

/// Real-time: the hog has the priority asked for, and the high thread the next; the low ones share
/// what is left, as other. By nice: the high thread has the one asked for, the low ones the lowest,
/// and the hog is in the middle. Throws condition_error where there is no room for three.
inline ranks ranks_under(const schedule& asked) {
  if (asked.is_real_time()) {
    if (asked.priority + 2 > highest_priority) {
      throw condition_error{
          "--priority " + std::to_string(asked.priority) +
          ": the high thread of this study is one above that and its rescuer two, "
          "and there is nothing above 99; ask for at most 97"};
    }
    const auto above = [&](unsigned steps) {
      return schedule{.of = asked.of, .priority = asked.priority + steps};
    };
    const schedule low{.of = policy::other, .nice = getpriority(PRIO_PROCESS, 0)};
    return {.high = above(1), .hog = above(0), .low = low, .rescuer = above(2), .are_strict = true};
  }
  if (asked.of != policy::other && asked.of != policy::batch) {
    throw condition_error{"policy " + std::string{name_of(asked.of)} +
                          " has no ranks, so there is none to be high in; measure this study under "
                          "fifo, rr, other or batch"};
  }
  if (asked.nice + 2 > lowest_nice) {
    throw condition_error{"nice " + std::to_string(asked.nice) +
                          " leaves no room for the hog and the low threads below it; ask for at "
                          "most 17, or --policy fifo"};
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
