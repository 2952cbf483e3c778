// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cost of a pair of calls when no other thread wants the lock: acquire and release.

#include "clock.hpp"
#include "histogram.hpp"
#include "team.hpp"

#include <algorithm>
#include <cstdint>

namespace lockyard::harness {

inline constexpr std::uint64_t pairs_per_batch = 1000;

/// Makes so many pairs, each with an action in between, and returns how long they took.
using batch = ticks(void* place, std::uint64_t& counter);

template <class Lock>
[[gnu::noinline, gnu::aligned(64)]] ticks batch_of(void* place, std::uint64_t& counter) {
  Lock& lock = *static_cast<Lock*>(place);
  const ticks before = clock::now();
  for (std::uint64_t i = 0; i < pairs_per_batch; ++i) {
    lock.lock();
    counter = counter + 1;
    lock.unlock();
  }
  return clock::now() - before;
}

/// The cost of a pair over many batches. The figure is the median, because interrupts only ever add
/// time.
struct pair_cost {
  merged_histogram batches;
  ticks least = UINT64_MAX;
  std::uint64_t pairs = 0;

  void add(ticks timing) {
    batches.add(timing);
    least = std::min(least, timing);
  }
};

inline pair_cost time_pairs(batch time_batch, void* lock, std::uint64_t& counter,
                            loop_limit limit) {
  pair_cost cost;
  time_batch(lock, counter);  // warms up caches and predictors
  cost.pairs = pairs_per_batch;
  do {
    cost.add(time_batch(lock, counter));
    cost.pairs += pairs_per_batch;
  } while (clock::now() < limit.end && cost.pairs < limit.operations);
  return cost;
}

}  // namespace lockyard::harness
