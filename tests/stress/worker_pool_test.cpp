// SPDX-License-Identifier: Apache-2.0

// Many submitters and workers at one small queue, with pauses in between: no task is lost, none
// runs twice, and the pool comes to its end however it is stopped.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "stress/contention.hpp"
#include "support/pools.hpp"

namespace lockyard::testing {
namespace {

class EveryPool : public ::testing::TestWithParam<pool_maker> {};

INSTANTIATE_TEST_SUITE_P(Each, EveryPool, ::testing::ValuesIn(pool_makers()), name_of_pool);

/// How often each task of some submitters has run.
class tally {
 public:
  explicit tally(unsigned tasks) : counts_{std::make_unique<std::atomic<unsigned>[]>(tasks)} {}
  task of(unsigned each) {
    return {"counts", [this, each] { ++counts_[each]; }};
  }
  [[nodiscard]] unsigned runs(unsigned each) const { return counts_[each]; }

 private:
  std::unique_ptr<std::atomic<unsigned>[]> counts_;
};

/// So that queues run full, and empty, and workers are idle again and again.
void submit_in_bursts(some_pool& pool, tally& of, unsigned first, unsigned last,
                      std::atomic<unsigned>& taken) {
  std::minstd_rand random{static_cast<std::uint32_t>(seed() + first)};
  for (unsigned i = first; i < last; ++i) {
    if (random() % 8 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds{random() % 100});
    }
    const bool waits = random() % 2 == 0;
    auto refused = waits ? pool.submit(of.of(i)) : pool.try_submit(of.of(i));
    while (refused && refused->why == push_result::full) {
      std::this_thread::yield();
      refused = pool.try_submit(std::move(refused->work));
    }
    if (!refused) ++taken;
  }
}

struct team_shape {
  unsigned workers;
  std::size_t capacity;
};

class team {
 public:
  static constexpr unsigned submitters = 3;

  team(const pool_maker& maker, team_shape of)
      : pool{maker.make({.workers = of.workers, .capacity = of.capacity})} {
    for (unsigned i = 0; i < submitters; ++i) {
      threads_.emplace_back(
          [this, i] { submit_in_bursts(*pool, runs_, i * each, (i + 1) * each, taken); });
    }
  }

  void await_submitters() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  /// How many ran; none twice.
  [[nodiscard]] unsigned ran() const {
    unsigned all = 0;
    for (unsigned i = 0; i < submitters * each; ++i) {
      EXPECT_LE(runs_.runs(i), 1U) << "task " << i;
      all += runs_.runs(i);
    }
    return all;
  }

  const unsigned each = scaled(300);
  std::unique_ptr<some_pool> pool;
  std::atomic<unsigned> taken{0};

 private:
  tally runs_{submitters * each};
  std::vector<std::thread> threads_;
};

constexpr team_shape shapes[] = {{1, 1}, {4, 2}, {3, 64}};

TEST_P(EveryPool, loses_no_task_and_runs_none_twice) {
  for (const team_shape shape : shapes) {
    team of{GetParam(), shape};
    of.await_submitters();
    of.pool->drain();
    EXPECT_EQ(of.taken, team::submitters * of.each);
    EXPECT_EQ(of.ran(), of.taken);
  }
}

TEST_P(EveryPool, gives_back_what_it_does_not_run_when_it_is_cancelled_under_way) {
  for (const team_shape shape : shapes) {
    team of{GetParam(), shape};
    while (of.taken < of.each) std::this_thread::yield();
    const std::size_t back = of.pool->cancel().size();
    of.await_submitters();
    EXPECT_TRUE(of.pool->stop_within(std::chrono::minutes{10}).has_stopped());
    EXPECT_EQ(of.ran() + back, of.taken);
  }
}

TEST_P(EveryPool, ends_while_its_workers_go_to_sleep) {
  for (unsigned i = scaled(100); i > 0; --i) {
    std::atomic<unsigned> ran{0};
    {
      const auto pool = GetParam().make({.workers = 2, .capacity = 1});
      if (i % 2 == 0) std::this_thread::yield();
      EXPECT_FALSE(pool->submit({"counts", [&ran] { ++ran; }}));
    }
    EXPECT_EQ(ran, 1U);
  }
}

}  // namespace
}  // namespace lockyard::testing
