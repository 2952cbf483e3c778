// SPDX-License-Identifier: Apache-2.0
#include "company.hpp"

#include "../team.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace lockyard::harness {

namespace {

constexpr double hog_period_ns = 10e6;
constexpr double look_every_ns = 5e6;
constexpr double look_from_aside_every_ns = 1e5;

}  // namespace

companion::companion(std::optional<int> cpu, const schedule& under, std::function<void()> work) {
  const auto take_part = [this, cpu, under, work = std::move(work)] {
    try {
      if (cpu) pin_this_thread(*cpu);
      run_under(under);
    } catch (const condition_error& error) {
      failure_ = error.what();
    }
    in_place_.count_down();
    // order[told]: acquire; pairs [tell]; what was made before the run is there.
    told_.wait(told::nothing, std::memory_order_acquire);
    // order[seen_told]: acquire; pairs [tell]; as above.
    if (told_.load(std::memory_order_acquire) == told::to_work) work();
  };
  try {
    thread_ = std::jthread{take_part};
  } catch (const std::system_error& error) {
    throw condition_error{std::string{"cannot have a thread beside those that want the lock: "} +
                          error.what() + "; raise the limit of processes"};
  }
  in_place_.wait();
  if (failure_) {
    dismiss();
    throw condition_error{*failure_};
  }
}

void companion::begin() noexcept {
  tell(told::to_work);
}

void companion::dismiss() noexcept {
  if (!thread_.joinable()) return;
  tell(told::to_leave);
  thread_.join();
}

void companion::tell(told what) noexcept {
  told expected = told::nothing;
  // order[tell]: release; pairs [told, seen_told]; what was made before the run goes with it.
  // relaxed(hint): what was said stays said.
  told_.compare_exchange_strong(expected, what, std::memory_order_release,
                                std::memory_order_relaxed);
  told_.notify_all();
}

double companion::used_cpu_ns() noexcept {
  clockid_t clock{};
  return pthread_getcpuclockid(thread_.native_handle(), &clock) == 0 ? cpu_ns(clock) : 0;
}

bool priority_signals::demote() noexcept {
  const sched_param none{};
  // relaxed(revalidated): written before the wait began that was seen.
  const pid_t high = high_thread_.load(std::memory_order_relaxed);
  if (sched_setscheduler(high, SCHED_OTHER, &none) != 0) return false;
  // relaxed(hint): it sees so after this wait, or after the next.
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
  // Asleep first, so that the low threads get to their work.
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
