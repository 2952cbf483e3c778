// SPDX-License-Identifier: Apache-2.0

// How often threads may acquire a lock before they get less done together, and the cost of the lock
// when no other thread wants it. No clock is read around the lock. docs/studies/frequency.md gives
// definition and reading.

#include "../contention/contenders.hpp"
#include "../pairs.hpp"
#include "../study.hpp"

#include <peers/all.hpp>

#include <cstdint>

namespace lockyard::harness {

namespace {

/// The time for uncontended pairs after the run.
constexpr double pairs_ns = 2e6;

using frequency_loop = thread_span(const contended& on, contender& self, unsigned thread,
                                   loop_limit limit);

template <class Lock>
[[gnu::noinline]] thread_span frequency_loop_of(const contended& on, contender& self,
                                                unsigned thread, loop_limit limit) {
  const auto draw = [&self](std::uint32_t units) { self.draws.work(units); };
  return contention_loop<Lock, false>(on, self, draw, thread, limit);
}

/// Measures the pair; the calling thread is alone by now.
double pair_ns(void* lock, batch time_batch) {
  std::uint64_t counter = 0;
  const loop_limit limit{.operations = UINT64_MAX, .end = clock::now() + clock::from_ns(pairs_ns)};
  return time_pairs(time_batch, lock, counter, limit).batches.median() * clock::ns_per_tick() /
         pairs_per_batch;
}

outcome measure(const job& of, const subject& lock, frequency_loop loop, batch pair) {
  const interval between{.mean_ns = of.parameter("interval_ns"),
                         .share = of.parameter("share_percent") / 100};
  const double unit_ns = draw_ns();
  const unit_costs costs{.free_ns = unit_ns, .held_ns = unit_ns};
  contenders all{between, costs, of.threads, of.seed};
  const arena<ownership> place{lock, of.seed};
  closing_time closing{between.as_work()};
  const contended on{.lock = place.lock(), .state = place.data(), .closing = closing};
  refusal_check refusal{lock, place.lock()};
  const team_run run = run_team_on(of, refusal, [&](unsigned thread, loop_limit limit) {
    return loop(on, all.member(thread), thread, limit);
  });
  outcome result = contenders_outcome(of, run, place.data(), all, between, costs);
  result.values["pair_ns"] = pair_ns(place.lock(), pair);
  result.checks = checks_of(lock, refusal, place.data().counter == run.operations());
  return result;
}

struct frequency {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {traits, operations_on<Lock>}, frequency_loop_of<Lock>, batch_of<Lock>);
  }
};

}  // namespace

study frequency_study() {
  return {
      .name = "frequency",
      .summary =
          "how often threads may acquire a lock before they get less done together, and its cost "
          "when no other thread wants it",
      .place = 80,
      .default_run_s = 0.05,
      .default_budget_s = 0.4,
      .parameters = {{.name = "interval_ns",
                      .unit = "ns",
                      .summary = "a thread's mean work from one acquisition to the next",
                      .least = 10,
                      .most = 1e7,
                      .defaults = {10, 31, 100, 310, 1'000, 3'100, 10'000, 31'000}},
                     {.name = "share_percent",
                      .unit = "%",
                      .summary = "share of that work that needs the lock",
                      .least = 0,
                      .most = 100,
                      .defaults = {0, 10, 25, 50, 75, 100}}},
      .cells = cells_of<frequency>()};
}

}  // namespace lockyard::harness
