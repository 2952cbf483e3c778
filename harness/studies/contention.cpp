// SPDX-License-Identifier: Apache-2.0

// The amount of work that several threads get done together if they need one lock for a share of
// it. The preset frequency varies how often they need the lock as well; it reads no clock around
// the lock, and measures what the lock costs when no other thread wants it.
// docs/studies/contention.md gives definition and reading.

#include "../contention/contenders.hpp"
#include "../pairs.hpp"
#include "../study.hpp"

#include <peers/all.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <memory_resource>

namespace lockyard::harness {

namespace {

constexpr std::string_view frequency = "frequency";
constexpr std::string_view draws = "draws";
constexpr std::string_view allocator = "allocator";
constexpr double default_rate_per_s = 15'000;
// Measured in a game, by the published text.
constexpr unsigned allocating_threads = 3;
constexpr std::array allocator_rates_per_s{15'000.0, 100'000.0};
constexpr std::array allocator_shares_percent{2.0};
constexpr std::array allocator_presets{preset{"rate_per_s", allocator_rates_per_s},
                                       preset{"share_percent", allocator_shares_percent}};
/// The time for uncontended pairs after a run of the preset frequency.
constexpr double pairs_ns = 2e6;

/// An allocator that the threads share, and each thread's part of it. Under a lock that does not
/// exclude, each thread has its own allocator, since a shared one would be corrupted.
class heap {
 public:
  heap(unsigned threads, std::uint64_t seed) : allocators_(threads) {
    for (unsigned thread = 0; thread < threads; ++thread) blocks_.emplace_back(seed + thread);
  }

  [[nodiscard]] allocating& blocks(unsigned thread) noexcept { return blocks_[thread]; }
  [[nodiscard]] std::pmr::memory_resource& allocator(unsigned thread, bool is_shared) noexcept {
    return allocators_[is_shared ? 0 : thread];
  }
  [[nodiscard]] bool is_whole() const noexcept {
    return std::ranges::all_of(blocks_, [](const auto& each) { return each.broken() == 0; });
  }

 private:
  std::deque<std::pmr::unsynchronized_pool_resource> allocators_;
  std::deque<allocating> blocks_;
};

using draw_loop_type = thread_span(const contended& on, contender& self, unsigned thread,
                                   loop_limit limit);

struct contention_loops {
  draw_loop_type* draw;
  draw_loop_type* draw_without_clock;
  thread_span (*allocate)(const contended& on, contender& self, allocating& blocks,
                          std::pmr::memory_resource& from, unsigned thread, loop_limit limit);
  batch* pairs;
};

template <class Lock, bool ReadsClock>
[[gnu::noinline]] thread_span draw_loop(const contended& on, contender& self, unsigned thread,
                                        loop_limit limit) {
  const auto draw = [&self](std::uint32_t units) { self.draws.work(units); };
  return contention_loop<Lock, ReadsClock>(on, self, draw, thread, limit);
}

template <class Lock>
[[gnu::noinline]] thread_span allocate_loop(const contended& on, contender& self,
                                            allocating& blocks, std::pmr::memory_resource& from,
                                            unsigned thread, loop_limit limit) {
  const auto allocate = [&](std::uint32_t units) { blocks.work(units, from); };
  return contention_loop<Lock, true>(on, self, allocate, thread, limit);
}

/// Measures the pair; the calling thread is alone by now.
double pair_ns(void* lock, batch* time_batch) {
  std::uint64_t counter = 0;
  const loop_limit limit{.operations = UINT64_MAX, .end = clock::now() + clock::from_ns(pairs_ns)};
  return time_pairs(time_batch, lock, counter, limit).batches.median() * clock::ns_per_tick() /
         pairs_per_batch;
}

double mean_interval_ns(const job& of) {
  return of.study == frequency ? of.parameter("interval_ns") : 1e9 / of.parameter("rate_per_s");
}

outcome measure(const job& of, const subject& lock, const contention_loops& loops) {
  const bool is_frequency = of.study == frequency;
  const bool allocates = !is_frequency && of.choice("workload") == allocator;
  const interval between{.mean_ns = mean_interval_ns(of),
                         .share = of.parameter("share_percent") / 100};
  const double free_ns = draw_ns();
  const unit_costs costs{.free_ns = free_ns, .held_ns = allocates ? allocation_ns() : free_ns};
  contenders all{between, costs, of.threads, of.seed};
  heap shared{allocates ? of.threads : 0, of.seed};
  const arena<ownership> place{lock, of.seed};
  closing_time closing{between.as_work()};
  const contended on{.lock = place.lock(), .state = place.data(), .closing = closing};
  refusal_check refusal{lock, place.lock()};
  draw_loop_type* const draw = is_frequency ? loops.draw_without_clock : loops.draw;
  const team_run run = run_team_on(of, refusal, [&](unsigned thread, loop_limit limit) {
    contender& self = all.member(thread);
    if (!allocates) return draw(on, self, thread, limit);
    const bool is_shared = lock.traits.excludes && refusal.passed();
    return loops.allocate(on, self, shared.blocks(thread), shared.allocator(thread, is_shared),
                          thread, limit);
  });
  outcome result = contenders_outcome(of, run, place.data(), all, between, costs);
  result.checks = checks_of(lock, refusal, place.data().counter == run.operations());
  if (is_frequency) {
    result.values["pair_ns"] = pair_ns(place.lock(), loops.pairs);
    return result;
  }
  result.values["waiting_share"] = all.waiting_share(run);
  result.checks["blocks"] = nullptr;
  if (allocates && lock.traits.excludes) result.checks["blocks"] = shared.is_whole();
  return result;
}

struct contention {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {traits, operations_on<Lock>},
                   {.draw = draw_loop<Lock, true>,
                    .draw_without_clock = draw_loop<Lock, false>,
                    .allocate = allocate_loop<Lock>,
                    .pairs = batch_of<Lock>});
  }
};

}  // namespace

study contention_study() {
  return {
      .name = "contention",
      .summary = "how much work threads get done together if they need one lock for a share of it",
      .place = 70,
      .default_run_s = 0.1,
      .default_budget_s = 1,
      .parameters = {{.name = "workload",
                      .type = parameter_type::choice,
                      .summary = "what the threads do: draw random numbers, or use an allocator",
                      .choices = {{.name = draws},
                                  {.name = allocator,
                                   .threads = allocating_threads,
                                   .presets = allocator_presets}}},
                     {.name = "rate_per_s",
                      .unit = "/s",
                      .summary = "acquisitions per second of a thread's work",
                      .least = 100,
                      .most = 1e9,
                      .defaults = {default_rate_per_s}},
                     {.name = "share_percent",
                      .unit = "%",
                      .summary = "share of that work that needs the lock",
                      .least = 0,
                      .most = 100,
                      .defaults = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}}},
      .clock_reads = 2,
      .cells = cells_of<contention>(),
      .presets = {
          {.name = frequency,
           .summary = "how often threads may acquire a lock before they get less done together, "
                      "and its cost when no other thread wants it",
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
                           .defaults = {0, 10, 25, 50, 75, 100}}}}}};
}

}  // namespace lockyard::harness
