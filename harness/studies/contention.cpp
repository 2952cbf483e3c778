// SPDX-License-Identifier: Apache-2.0

// The amount of work that several threads get done together if they need one lock for a share of
// it. docs/studies/contention.md gives definition and reading.

#include "../contention/contenders.hpp"
#include "../study.hpp"

#include <peers/all.hpp>

#include <array>
#include <deque>
#include <memory_resource>

namespace lockyard::harness {

namespace {

constexpr std::string_view draws = "draws";
constexpr std::string_view allocator = "allocator";
constexpr double default_rate_per_s = 15'000;
// Measured in a game, by the published text.
constexpr unsigned allocating_threads = 3;
constexpr std::array allocator_rates_per_s{15'000.0, 100'000.0};
constexpr std::array allocator_shares_percent{2.0};
constexpr std::array allocator_presets{preset{"rate_per_s", allocator_rates_per_s},
                                       preset{"share_percent", allocator_shares_percent}};

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

struct contention_loops {
  thread_span (*draw)(const contended& on, contender& self, unsigned thread, loop_limit limit);
  thread_span (*allocate)(const contended& on, contender& self, allocating& blocks,
                          std::pmr::memory_resource& from, unsigned thread, loop_limit limit);
};

template <class Lock>
[[gnu::noinline]] thread_span draw_loop(const contended& on, contender& self, unsigned thread,
                                        loop_limit limit) {
  const auto draw = [&self](std::uint32_t units) { self.draws.work(units); };
  return contention_loop<Lock, true>(on, self, draw, thread, limit);
}

template <class Lock>
[[gnu::noinline]] thread_span allocate_loop(const contended& on, contender& self,
                                            allocating& blocks, std::pmr::memory_resource& from,
                                            unsigned thread, loop_limit limit) {
  const auto allocate = [&](std::uint32_t units) { blocks.work(units, from); };
  return contention_loop<Lock, true>(on, self, allocate, thread, limit);
}

outcome measure(const job& of, const subject& lock, const contention_loops& loops) {
  const bool allocates = of.choice("workload") == allocator;
  const interval between{.mean_ns = 1e9 / of.parameter("rate_per_s"),
                         .share = of.parameter("share_percent") / 100};
  const double free_ns = draw_ns();
  const unit_costs costs{.free_ns = free_ns, .held_ns = allocates ? allocation_ns() : free_ns};
  contenders all{between, costs, of.threads, of.seed};
  heap shared{of.threads, of.seed};
  const arena<ownership> place{lock, of.seed};
  closing_time closing{between.as_work()};
  const contended on{.lock = place.lock(), .state = place.data(), .closing = closing};
  refusal_check refusal{lock, place.lock()};
  const team_run run = run_team_on(of, refusal, [&](unsigned thread, loop_limit limit) {
    contender& self = all.member(thread);
    if (!allocates) return loops.draw(on, self, thread, limit);
    const bool is_shared = lock.traits.excludes && refusal.passed();
    return loops.allocate(on, self, shared.blocks(thread), shared.allocator(thread, is_shared),
                          thread, limit);
  });
  outcome result = contenders_outcome(of, run, place.data(), all, between, costs);
  result.values["waiting_share"] = all.waiting_share(run);
  result.checks = checks_of(lock, refusal, place.data().counter == run.operations());
  result.checks["blocks"] = nullptr;
  if (allocates && lock.traits.excludes) result.checks["blocks"] = shared.is_whole();
  return result;
}

struct contention {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {traits, operations_on<Lock>},
                   {.draw = draw_loop<Lock>, .allocate = allocate_loop<Lock>});
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
      .cells = cells_of<contention>()};
}

}  // namespace lockyard::harness
