// SPDX-License-Identifier: Apache-2.0

// The writers of the kernel's locktorture: the throughput of a lock whose holders now and then keep
// it, or yield their processor. docs/studies/torture.md gives definition and reading.

#include "../closing_time.hpp"
#include "../random.hpp"
#include "../rate.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"

#include <peers/all.hpp>

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <limits>

namespace lockyard::harness {

namespace {

constexpr std::string_view classic = "classic";
constexpr std::string_view nohold = "nohold";

// One in this many acquisitions of one thread; with n threads each is n times as rare.
constexpr std::uint64_t long_hold_one_in = 200'000;
constexpr std::uint64_t short_hold_one_in = 400;
constexpr std::uint64_t yield_one_in = 20'000;
constexpr double long_hold_ns = 1e8;
constexpr double short_hold_ns = 2e3;

/// How often each delay occurred.
struct delays {
  std::uint64_t long_holds = 0;
  std::uint64_t short_holds = 0;
  std::uint64_t yields = 0;
};

/// The data that the lock protects.
struct tortured {
  ownership books;
  bool held = false;
  std::uint64_t found_held = 0;
  std::uint64_t next_long_hold = std::numeric_limits<std::uint64_t>::max();
  delays came;

  void enter(unsigned thread) noexcept {
    if (held) found_held = found_held + 1;
    held = true;
    books.enter(thread);
    // order[held]: seq_cst; pairs [let_go]; for the compiler alone, no test: it may not remove a
    // flag that no other thread reads.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void leave() noexcept {
    // order[let_go]: seq_cst; pairs [held]; for the compiler alone, no test: as above.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    held = false;
  }
};

/// When the holder keeps the lock.
struct delay_plan {
  odds short_hold;
  odds yield;
  places long_holds;  ///< used by the lock's owner only
};

struct torture_scene {
  void* lock;
  tortured& state;
  delay_plan& delays;
  closing_time& closing;
};

/// Called with the lock held.
[[gnu::noinline]] void delay(tortured& state, delay_plan& when, xorshift& draws) {
  if (state.books.counter > state.next_long_hold) {
    state.next_long_hold = when.long_holds.next();
    ++state.came.long_holds;
    wait_busily(long_hold_ns);
  }
  if (when.short_hold.come_up(draws)) {
    ++state.came.short_holds;
    wait_busily(short_hold_ns);
  }
  if (when.yield.come_up(draws)) {
    ++state.came.yields;
    sched_yield();
  }
}

using torture_loop = thread_span(const torture_scene& on, xorshift draws, unsigned thread,
                                 loop_limit limit);

template <class Lock>
[[gnu::noinline]] thread_span torture_loop_of(const torture_scene& on, xorshift draws,
                                              unsigned thread, loop_limit limit) {
  Lock& lock = *static_cast<Lock*>(on.lock);
  thread_span span{.first = clock::now()};
  for (; span.operations < limit.operations && !on.closing.has_come(span.operations, limit.end);
       ++span.operations) {
    lock.lock();
    on.state.enter(thread);
    delay(on.state, on.delays, draws);
    on.state.leave();
    lock.unlock();
  }
  span.last = clock::now();
  return span;
}

outcome measure(const job& of, const subject& lock, torture_loop loop) {
  const arena<tortured> place{lock, of.seed};
  tortured& state = place.data();
  delay_plan when{.short_hold = odds{short_hold_one_in * of.threads},
                  .yield = odds{yield_one_in * of.threads},
                  .long_holds = {long_hold_one_in * of.threads, of.seed}};
  if (of.choice("workload") == classic) state.next_long_hold = when.long_holds.next();
  closing_time closing{of.work};
  const torture_scene on{.lock = place.lock(), .state = state, .delays = when, .closing = closing};
  refusal_check refusal{lock, place.lock()};
  const team_run run = run_team_on(of, refusal, [&](unsigned thread, loop_limit limit) {
    return loop(on, xorshift{mixed(of.seed) + thread}, thread, limit);
  });
  outcome result = rate_outcome(of, run, &state.books);
  result.values["long_holds"] = state.came.long_holds;
  result.values["short_holds"] = state.came.short_holds;
  result.values["yields"] = state.came.yields;
  result.checks = checks_of(lock, refusal, state.books.counter == run.operations());
  result.checks["held_flag"] = nullptr;
  if (lock.traits.excludes) result.checks["held_flag"] = state.found_held == 0;
  return result;
}

struct torture {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {traits, operations_on<Lock>}, torture_loop_of<Lock>);
  }
};

}  // namespace

study torture_study() {
  return {.name = "torture",
          .summary =
              "throughput of a lock whose holders sometimes hold it for long or yield, as in the "
              "kernel's locktorture",
          .place = 140,
          .default_run_s = 1,
          .default_budget_s = 10,
          .parameters = {{.name = "workload",
                          .type = parameter_type::choice,
                          .summary = "with or without locktorture's occasional long holds",
                          .choices = {{.name = classic}, {.name = nohold}}}},
          .cells = cells_of<torture>()};
}

}  // namespace lockyard::harness
