// SPDX-License-Identifier: Apache-2.0

// Semaphores among threads that want different numbers of permits, and do not all wait for them.

#include <lockyard/park/semaphore.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "stress/contention.hpp"

namespace lockyard::testing {
namespace {

/// Threads that take some of a number of permits, and give them back.
class takers {
 public:
  void run(unsigned threads, unsigned rounds) {
    std::cout << "LOCKYARD_SEED=" << seed() << '\n';
    std::vector<std::thread> team;
    for (unsigned t = 0; t < threads; ++t) team.emplace_back([=, this] { work(t, rounds); });
    for (auto& thread : team) thread.join();
    EXPECT_EQ(exceeded_, 0U);
    EXPECT_TRUE(permits_.try_acquire(all)) << "permits were lost";
    EXPECT_FALSE(permits_.try_acquire()) << "permits were made of nothing";
  }

 private:
  static constexpr std::ptrdiff_t all = 7;

  void work(unsigned thread, unsigned rounds) {
    std::minstd_rand random{static_cast<std::uint32_t>(seed() + thread)};
    for (unsigned round = 0; round < rounds; ++round) {
      const auto wanted = static_cast<std::ptrdiff_t>(random() % all + 1);
      const std::chrono::microseconds a_while{random() % 20};
      bool acquired = true;
      switch (random() % 4) {
        case 0: acquired = permits_.try_acquire(wanted); break;
        case 1: acquired = permits_.try_acquire_for(wanted, a_while); break;
        default: permits_.acquire(wanted);
      }
      if (acquired) use_and_release(wanted, random);
    }
  }

  void use_and_release(std::ptrdiff_t held, std::minstd_rand& random) {
    if (in_use_.fetch_add(held) + held > all) ++exceeded_;
    if (random() % 64 == 0) std::this_thread::yield();
    in_use_.fetch_sub(held);
    for (; random() % 2 == 0 && held > 1; --held) permits_.release();
    permits_.release(held);
  }

  semaphore permits_{all};
  std::atomic<std::ptrdiff_t> in_use_{0};
  std::atomic<unsigned> exceeded_{0};
};

TEST(SemaphoreStress, gives_out_what_it_has_and_loses_nothing) {
  takers{}.run(2 * cores(), scaled(50'000));
}

TEST(SemaphoreStress, serves_more_sleepers_than_are_woken_at_once) {
  takers{}.run(40, scaled(2000));
}

/// Threads that want one permit, and never pause, do not starve a thread that wants all.
TEST(SemaphoreStress, serves_a_big_request_among_small_ones_that_never_pause) {
  semaphore permits{4};
  std::atomic<bool> over{false};
  std::vector<std::thread> small;
  for (unsigned t = 0; t < 2 * cores(); ++t) {
    small.emplace_back([&] {
      while (!over.load()) {
        permits.acquire();
        std::this_thread::yield();
        permits.release();
      }
    });
  }
  for (unsigned i = 0; i < scaled(200); ++i) {
    permits.acquire(4);
    permits.release(4);
  }
  over = true;
  for (auto& thread : small) thread.join();
}

/// AddressSanitizer sees a release that comes back to the semaphore.
TEST(SemaphoreStress, may_be_destroyed_by_whom_a_release_let_go_on) {
  const unsigned rounds = scaled(20'000);
  std::vector<std::atomic<semaphore*>> handed(rounds);
  std::thread giver{[&] {
    for (auto& slot : handed) {
      semaphore* permits = nullptr;
      while ((permits = slot.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
      permits->release(2);
    }
  }};
  for (auto& slot : handed) {
    const auto permits = std::make_unique<semaphore>();
    slot.store(permits.get(), std::memory_order_release);
    permits->acquire(2);
  }
  giver.join();
}

}  // namespace
}  // namespace lockyard::testing
