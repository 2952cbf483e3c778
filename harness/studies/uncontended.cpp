// SPDX-License-Identifier: Apache-2.0

// The cost of lock and unlock when no other thread wants the lock: in a process that never had a
// second thread and in one that has had one, in turn over many locks, and while threads sleep on
// other locks. docs/studies/uncontended.md gives definition and reading.

#include "../pairs.hpp"
#include "../sleepers.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"

#include <peers/all.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

namespace lockyard::harness {

namespace {

constexpr std::uint64_t locks_in_row = 64;
/// Before and after a second thread, a row of locks, with sleepers.
constexpr unsigned part_count = 4;

struct protected_counter {
  std::uint64_t value = 0;
};

/// Acquires the locks of the row in turn. Their number is a power of two, so that finding the next
/// one costs almost nothing.
template <class Lock>
[[gnu::noinline, gnu::aligned(64)]] ticks round_of(void* first, std::uint64_t& counter) {
  auto* const row = static_cast<std::byte*>(first);
  const ticks before = clock::now();
  for (std::uint64_t i = 0; i < pairs_per_batch; ++i) {
    Lock& lock = *reinterpret_cast<Lock*>(row + i % locks_in_row * spacing_of<Lock>);
    lock.lock();
    counter = counter + 1;
    lock.unlock();
  }
  return clock::now() - before;
}

void report(outcome& to, const std::string& when, const pair_cost& cost) {
  const double scale = clock::ns_per_tick() / pairs_per_batch;
  to.values["pair_" + when + "_ns"] = cost.batches.median() * scale;
  to.values["pair_" + when + "_least_ns"] = static_cast<double>(cost.least) * scale;
  to.histograms["pair_" + when] = cost.batches.to_json(scale);
}

void have_a_second_thread(const std::function<void()>& function) {
  try {
    std::thread{function}.join();
  } catch (const std::system_error& error) {
    throw condition_error{std::string{"a second thread cannot be started ("} + error.what() +
                          "), so nothing was measured; raise the limit of processes"};
  }
}

/// The timed parts and their time: each part of the run has as much time, and as many pairs.
class parts {
 public:
  parts(const job& of, unsigned count, std::uint64_t& counter)
      : loops_{of.bound.loops}, part_ns_{of.bound.duration_s * 1e9 / count}, counter_{counter} {}

  void time(outcome& to, const std::string& what, batch time_batch, void* lock) {
    const pair_cost cost = time_pairs(time_batch, lock, counter_,
                                      {.operations = loops_.value_or(UINT64_MAX),
                                       .end = clock::now() + clock::from_ns(part_ns_)});
    report(to, what, cost);
    pairs_ += cost.pairs;
    complete_ = complete_ && cost.pairs >= loops_.value_or(0);
  }

  [[nodiscard]] std::uint64_t pairs() const noexcept { return pairs_; }
  [[nodiscard]] bool complete() const noexcept { return complete_; }

 private:
  std::optional<std::uint64_t> loops_;
  double part_ns_;
  std::uint64_t& counter_;
  std::uint64_t pairs_ = 0;
  bool complete_ = true;
};

/// Measures the pair again while threads sleep on other locks; null if they did not.
void time_beside_sleepers(outcome& to, const job& of, const subject& lock, void* place, batch pair,
                          parts& each) {
  to.values["pair_beside_sleepers_ns"] = nullptr;
  to.values["pair_beside_sleepers_least_ns"] = nullptr;
  to.values["sleepers_share_bucket"] = nullptr;
  const bool may_sleep =
      lock.traits.waiting == waiting::park || lock.traits.waiting == waiting::unknown;
  if (!may_sleep) return;
  const sleepers others{lock, place, of.count("sleepers")};
  if (!others.are_asleep()) return;
  each.time(to, "beside_sleepers", pair, place);
  to.values["sleepers_share_bucket"] = others.share_bucket();
}

outcome measure(const job& of, const subject& lock, batch pair, batch in_turn) {
  take_place(of, harness::place(of.pin, 1));
  const arena<protected_counter> place{lock, of.seed};
  const lock_row row{lock, locks_in_row};
  outcome result;
  result.values["operations"] = 0;
  result.values["complete"] = true;
  const ticks began = clock::now();
  parts each{of, part_count, place.data().value};
  each.time(result, "before_threads", pair, place.lock());

  refusal_check refusal{lock, place.lock()};
  have_a_second_thread([&] { refusal.probe(); });
  refusal.finish();

  each.time(result, "after_threads", pair, place.lock());
  each.time(result, "of_64", in_turn, row.first());
  time_beside_sleepers(result, of, lock, place.lock(), pair, each);
  result.values["run_ns"] = clock::ns(elapsed(began, clock::now()));
  result.values["operations"] = each.pairs();
  result.values["complete"] = each.complete();
  result.checks = checks_of(lock, refusal, place.data().value == each.pairs());
  return result;
}

struct uncontended {
  static constexpr bool measures_variants = true;

  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {traits, operations_on<Lock>}, batch_of<Lock>, round_of<Lock>);
  }
};

}  // namespace

study uncontended_study() {
  return {.name = "uncontended",
          .summary =
              "what lock and unlock cost when no other thread wants the lock: before and after a "
              "second thread has existed, in turn over 64 locks, and while others sleep",
          .place = 170,
          .default_run_s = 0.02,
          .default_budget_s = 2,
          .threads = 1,
          .parameters = {{.name = "sleepers",
                          .type = parameter_type::count,
                          .summary = "threads that sleep on other locks in the last part",
                          .least = 1,
                          .most = max_sleepers,
                          .defaults = {1}}},
          .cells = cells_of<uncontended>()};
}

}  // namespace lockyard::harness
