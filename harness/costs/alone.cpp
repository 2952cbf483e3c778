// SPDX-License-Identifier: Apache-2.0
#include "../team.hpp"
#include "costs.hpp"

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/event/event_count.hpp>

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <atomic>

namespace lockyard::harness {

namespace {

/// Gives the thread the finest timer slack, and restores the old slack at the end of the scope.
class fine_timer_slack {
 public:
  fine_timer_slack() { prctl(PR_SET_TIMERSLACK, 1UL); }
  fine_timer_slack(const fine_timer_slack&) = delete;
  fine_timer_slack& operator=(const fine_timer_slack&) = delete;
  ~fine_timer_slack() { prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_)); }

 private:
  int before_ = prctl(PR_GET_TIMERSLACK);
};

template <long Microseconds>
void sleep_for() {
  constexpr timespec length{.tv_sec = 0, .tv_nsec = Microseconds * 1000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &length, nullptr);
}

void add_sleeps(std::vector<cost>& to, double share_ns) {
  to.push_back(time_operation("sleep_50us", 1, share_ns, sleep_for<50>));
  to.push_back(time_operation("sleep_1ms", 1, share_ns, sleep_for<1000>));
  const fine_timer_slack fine;
  to.push_back(time_operation("sleep_50us_fine", 1, share_ns, sleep_for<50>));
  to.push_back(time_operation("sleep_1ms_fine", 1, share_ns, sleep_for<1000>));
}

}  // namespace

std::vector<cost> costs_alone(const job& of, int cpu, double share_ns) {
  take_place(of, {cpu});
  alignas(detail::arch::interference_size) std::atomic<std::uint32_t> word{0};
  const bool has_membarrier = detail::os::membarrier_register();
  std::vector<cost> all;
  const auto time = [&](std::string_view name, unsigned in_a_row, auto operation) {
    all.push_back(time_operation(name, in_a_row, share_ns, operation));
  };
  time("clock_read", 1000, [] { clock::now(); });
  time("clock_read_early", 1000, [] { clock::now_early(); });
  time("monotonic_raw_read", 1000, [] { monotonic_raw_ns(); });
  time("pause", 200, [] { detail::arch::pause(); });
  // relaxed(unpublished): no other thread sees the word; the instruction itself is timed.
  time("exchange", 1000, [&] { word.exchange(1, std::memory_order_relaxed); });
  // order[timed]: seq_cst; pairs [timed]; forbids no cycle: the instruction itself is timed.
  time("fence", 1000, [] { std::atomic_thread_fence(std::memory_order_seq_cst); });
  event_count nobody_waits;
  time("notify_nobody", 1000, [&] { nobody_waits.notify_one(); });
  time("yield_alone", 50, [] { sched_yield(); });
  time("futex_wake_nobody", 50, [&] { detail::os::futex_wake(&word, 1); });
  if (has_membarrier) {
    time("membarrier_alone", 50, [] { detail::os::membarrier(); });
  } else {
    all.emplace_back("membarrier_alone", 50);  // without timings
  }
  add_sleeps(all, share_ns);
  return all;
}

}  // namespace lockyard::harness
