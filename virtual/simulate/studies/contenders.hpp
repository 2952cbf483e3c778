// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the studies' threads have in common.

#include "study.hpp"

#include "../world.hpp"

#include <histogram.hpp>

#include <algorithm>
#include <cstdint>

namespace lockyard::simulation {

inline constexpr double ns_per_s = 1e9;

/// Reads the clock, which takes virtual time.
inline ps read_clock() {
  simulated::now();
  return engine::current().now();
}

/// One thread's draws of lengths of work.
class worker {
 public:
  worker(engine& on, const study_settings& of, std::uint64_t seed)
      : on_{&on}, exponential_{of.exponential}, chance_{seed} {}

  /// Returns the length of the work.
  ps work(ps mean) {
    if (mean <= 0) return 0;
    const auto drawn = static_cast<ps>(chance_.exponential(static_cast<double>(mean)));
    const ps length = exponential_ ? drawn : mean;
    on_->compute(length);
    return length;
  }

 private:
  engine* on_;
  bool exponential_;
  random_source chance_;
};

/// A counter with a cache line of its own, as the data that a lock protects.
struct alignas(64) protected_word {
  simulated::atomic<std::uint64_t> value{0};

  void add_one() {
    // relaxed(owner): only the lock's owner uses it.
    value.store(value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

/// Ends the simulation if two threads hold the lock at the same time.
class exclusion_check {
 public:
  void enter(engine& on) {
    if (is_held_) on.fail("two threads hold the lock at the same time: it does not exclude");
    is_held_ = true;
    on.owned_by(on.self());
  }
  void leave(engine& on) {
    is_held_ = false;
    on.owned_by(nullptr);
  }

 private:
  bool is_held_ = false;
};

/// A place where threads sleep until another thread wakes them. To sleep and to wake cost what they
/// cost in a futex.
class bed {
 public:
  explicit bed(engine& on) : on_{&on} {}

  template <class Condition>
  void sleep_until(Condition holds) {
    while (!holds()) {
      on_->operate(on_->costs_of().futex_wait);
      if (!holds()) on_->sleep(this, never);
    }
  }
  void sleep_for(ps length) { on_->sleep(this, on_->now() + length); }
  void wake(int most) { on_->wake(this, most); }

 private:
  engine* on_;
};

/// Returns 0 where the quotient is undefined.
template <class Part, class Whole>
double quotient(Part part, Whole whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

/// Returns the processor where the kernel starts a thread. Where no halted processor looks idle,
/// that is left to chance.
inline int first_processor(engine& on, int number) {
  const topology& shape = on.shape();
  if (!shape.halted_looks_preempted) return shape.nth_to_fill(number);
  return static_cast<int>(on.chance().next() % static_cast<std::uint64_t>(shape.processors));
}

/// Starts a thread as number `number` where the kernel would, or, pinned, on the processor of that
/// number.
inline thread& start_thread(engine& on, const study_settings& of, int number,
                            std::function<void()> body) {
  const int processor = of.pinned ? number % on.shape().processors : first_processor(on, number);
  thread& made = on.spawn(std::move(body), processor, 0);
  if (of.pinned) made.pinned_to = processor;
  return made;
}

/// Starts the study's threads; each calls `body` with its number.
template <class Body>
std::vector<const thread*> start_threads(engine& on, const study_settings& of, Body body) {
  std::vector<const thread*> team;
  for (int i = 0; i < of.threads; ++i) {
    team.push_back(&start_thread(on, of, i, [body, i] { body(i); }));
  }
  return team;
}

/// Returns the least value that is not exceeded by `share` of the values.
inline double quantile(const harness::merged_histogram& of, double share) {
  const auto wanted = share * static_cast<double>(of.count());
  double seen = 0;
  for (std::size_t i = 0; i < of.counts().size(); ++i) {
    seen += static_cast<double>(of.counts()[i]);
    if (seen >= wanted && seen > 0) return harness::merged_histogram::middle(i);
  }
  return 0;
}

/// Jain's index of the threads' operations: 1 if all are equal, 1 / threads if one has all.
inline double fairness_of(const std::vector<std::uint64_t>& operations) {
  double sum = 0, squares = 0;
  for (const std::uint64_t each : operations) {
    const auto count = static_cast<double>(each);
    sum += count, squares += count * count;
  }
  return squares > 0 ? sum * sum / squares / static_cast<double>(operations.size()) : 0;
}

}  // namespace lockyard::simulation
