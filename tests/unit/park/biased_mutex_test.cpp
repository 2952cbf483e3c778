// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/biased_mutex.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

static_assert(sizeof(biased_mutex<>) == 40);

/// The real machine as if it always had membarrier, with a count of the heavy fences. The threads
/// of these tests do not run at the same time while one of them has the bias.
struct fenced_world : derived_world<fenced_world, native> {
  using unwatched = fenced_world;
  static inline std::atomic<int> heavy_fences{0}, waits{0};
  static inline bool is_refused = false;

  static bool asymmetric_fence_register() noexcept { return true; }
  static bool asymmetric_fence_heavy() noexcept {
    ++heavy_fences;
    return !is_refused;
  }
  static wait_result wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                          deadline limit = never) noexcept {
    ++waits;
    return native::wait(word, expected, limit);
  }
};

class BiasedMutex : public ::testing::Test {
 protected:
  static constexpr int enough = 3;
  using mutex = biased_mutex<basic_mutex<fenced_world>, enough>;

  void SetUp() override { fenced_world::heavy_fences = fenced_world::waits = 0; }

  void use(int times) {
    for (int i = 0; i < times; ++i) {
      lock_.lock();
      lock_.unlock();
    }
  }
  void use_elsewhere(int times) {
    std::thread{[=, this] { use(times); }}.join();
  }

  mutex lock_;
};

TEST_F(BiasedMutex, gives_the_bias_to_a_thread_that_comes_often_enough_in_a_row) {
  use(enough - 1);
  use_elsewhere(1);
  EXPECT_EQ(fenced_world::heavy_fences, 0) << "no thread had the bias";
  use(enough - 1);
  use_elsewhere(enough - 1);
  EXPECT_EQ(fenced_world::heavy_fences, 0) << "each thread begins anew";
  use(enough + 2);
  use_elsewhere(1);
  EXPECT_EQ(fenced_world::heavy_fences, 1);
  use_elsewhere(1);
  EXPECT_EQ(fenced_world::heavy_fences, 1) << "a bias is revoked once";
}

TEST_F(BiasedMutex, gives_the_bias_to_another_thread_when_the_last_one_has_come_by) {
  use(enough);
  use_elsewhere(1 + enough);
  use_elsewhere(1);
  EXPECT_EQ(fenced_world::heavy_fences, 1) << "the first thread may still write the flag";
  use(1);
  use_elsewhere(enough);
  use(1);
  EXPECT_EQ(fenced_world::heavy_fences, 2) << "the other thread had the bias";
}

TEST_F(BiasedMutex, outlives_the_thread_that_has_the_bias) {
  use_elsewhere(enough + 1);
  EXPECT_TRUE(lock_.try_lock());
  lock_.unlock();
  EXPECT_EQ(fenced_world::heavy_fences, 1);
}

TEST_F(BiasedMutex, wakes_a_thread_that_sleeps_until_the_biased_thread_leaves) {
  use(enough);
  lock_.lock();
  EXPECT_FALSE(lock_.try_lock()) << "also for the biased thread itself";
  std::thread other{[this] { use(1); }};
  while (fenced_world::waits == 0) std::this_thread::yield();
  lock_.unlock();
  other.join();
}

TEST_F(BiasedMutex, stays_held_when_another_thread_gives_up) {
  use(enough);
  lock_.lock();
  for (int i = 0; i < 2; ++i) {
    std::thread{[this] {
      EXPECT_FALSE(lock_.try_lock());
      EXPECT_FALSE(lock_.try_lock_for(std::chrono::milliseconds{1}));
    }}.join();
  }
  EXPECT_EQ(fenced_world::heavy_fences, 1);
  lock_.unlock();
  use_elsewhere(1);
}

TEST_F(BiasedMutex, ends_the_process_where_the_bias_cannot_be_revoked) {
  use(enough);
  const auto revoke = [this] {
    fenced_world::is_refused = true;
    use_elsewhere(1);
  };
  EXPECT_DEATH(revoke(), "membarrier");
}

}  // namespace
}  // namespace lockyard::testing
