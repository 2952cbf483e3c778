// SPDX-License-Identifier: Apache-2.0

// Every lock under random hold times, more threads than cores, and destruction by the next owner.
// The seed is printed; LOCKYARD_SEED repeats a run's choices.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "support/catalog_types.hpp"
#include "support/exclusion.hpp"

namespace lockyard::testing {
namespace {

std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* const given = std::getenv("LOCKYARD_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  }();
  return value;
}

template <class Lock>
class Stress : public ::testing::Test {
 protected:
  void SetUp() override { std::cout << "LOCKYARD_SEED=" << seed() << '\n'; }
};
TYPED_TEST_SUITE(Stress, sound_locks, catalog_name);

/// Passes some time that the compiler cannot see through.
void linger(std::uint32_t turns) {
  for (std::uint32_t i = 0; i < turns; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

TYPED_TEST(Stress, keeps_two_words_equal_under_random_holds) {
  constexpr unsigned threads = 4;
  constexpr int rounds = 2000;
  TypeParam lock;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::atomic<int> torn{0};
  std::vector<std::thread> team;
  for (unsigned t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      std::minstd_rand random{static_cast<std::uint32_t>(seed() + t)};
      for (int i = 0; i < rounds; ++i) {
        const std::scoped_lock guard{lock};
        if (first != second) ++torn;
        ++first;
        linger(random() % 64);
        ++second;
      }
    });
  }
  for (auto& thread : team) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(first, threads * rounds);
  EXPECT_EQ(second, threads * rounds);
}

TYPED_TEST(Stress, makes_progress_with_more_threads_than_cores) {
  EXPECT_TRUE(counts_exactly<TypeParam>(4 * std::thread::hardware_concurrency() + 8, 100));
}

/// The last of several owners destroys the lock at once, while the one before may still be
/// returning from its unlock. AddressSanitizer sees an unlock that comes back to the lock.
TYPED_TEST(Stress, may_be_destroyed_by_the_next_owner) {
  struct shared {
    TypeParam lock;
    int users = 2;
  };
  const auto leave = [](shared* object) {
    object->lock.lock();
    const bool last = --object->users == 0;
    object->lock.unlock();
    if (last) delete object;
  };
  constexpr int rounds = 300;
  std::vector<std::atomic<shared*>> handed(rounds);
  std::thread partner{[&] {
    for (auto& slot : handed) {
      shared* object = nullptr;
      while ((object = slot.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
      leave(object);
    }
  }};
  for (auto& slot : handed) {
    auto* const object = new shared;
    slot.store(object, std::memory_order_release);
    leave(object);
  }
  partner.join();
}

}  // namespace
}  // namespace lockyard::testing
