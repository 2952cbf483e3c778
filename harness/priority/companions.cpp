// SPDX-License-Identifier: Apache-2.0
#include "companions.hpp"

#include "../loops/priority.hpp"
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

namespace {

struct hog_of_processor {
  [[nodiscard]] static ticks now() noexcept { return clock::now(); }
  [[nodiscard]] bool goes_on(ticks begin) const noexcept {
    return !signals.is_over() && begin < deadline;
  }
  static void sleep_until(ticks end) noexcept { sleep_for_ns(clock::ns(elapsed(now(), end))); }
  [[nodiscard]] bool may_work() const noexcept {
    return !signals.is_over() && !signals.is_being_rescued();
  }
  static void work() noexcept { detail::arch::pause(); }
  void make_way() const noexcept { harness::make_way(signals); }

  const priority_signals& signals;
  ticks deadline;
};

}  // namespace

void hog_processor(const priority_signals& on, double share, ticks deadline) {
  const ticks period = clock::from_ns(hog_period_ns);
  const auto asleep = static_cast<ticks>(static_cast<double>(period) * (1 - share));
  hog_of_processor self{on, deadline};
  loops::sleep_and_work(self, period, asleep);
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
