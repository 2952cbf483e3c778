// SPDX-License-Identifier: Apache-2.0
#include "companions.hpp"

#include "rules.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace lockyard::harness {

using namespace priority_rules;

bool priority_signals::demote() noexcept {
  const sched_param none{};
  // relaxed(revalidated): written before the observed wait began.
  const pid_t high = high_thread_.load(std::memory_order_relaxed);
  if (sched_setscheduler(high, SCHED_OTHER, &none) != 0) return false;
  // relaxed(hint): the high thread sees it after this wait or after the next.
  is_demoted_.store(true, std::memory_order_relaxed);
  return true;
}

void sleep_for_ns(double length_ns) noexcept {
  const auto whole_ns = static_cast<std::int64_t>(std::max(length_ns, 0.0));
  const timespec length{.tv_sec = whole_ns / 1'000'000'000, .tv_nsec = whole_ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &length, nullptr);
}

void hog_processor(const priority_signals& on, double share, ticks deadline) {
  const ticks period = clock::from_ns(hog_period_ns);
  const auto asleep = static_cast<ticks>(static_cast<double>(period) * (1 - share));
  // Sleeps first, so that the low threads can begin their work.
  for (ticks begin = clock::now(); !on.is_over() && begin < deadline;
       begin = std::max(begin + period, clock::now())) {
    sleep_for_ns(clock::ns(elapsed(clock::now(), begin + asleep)));
    while (clock::now() < begin + period && !on.is_over() && !on.is_being_rescued()) {
      detail::arch::pause();
    }
    make_way(on);
  }
}

void make_way(const priority_signals& on) noexcept {
  while (on.is_being_rescued() && !on.is_over()) sleep_for_ns(look_from_aside_every_ns);
}

std::uint64_t rescue(priority_signals& on, double after_ns, ticks deadline) {
  std::uint64_t rescues = 0;
  ticks rescued = 0;
  while (!on.is_over() && clock::now() < deadline) {
    sleep_for_ns(look_every_ns);
    const ticks since = on.waits_since();
    if (since == 0 || since == rescued || clock::ns(elapsed(since, clock::now())) < after_ns) {
      continue;
    }
    if (!on.demote()) continue;
    rescued = since;
    ++rescues;
  }
  return rescues;
}

}  // namespace lockyard::harness
