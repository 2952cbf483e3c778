// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/adaptive_mutex.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

/// Its clock is the number of pauses, 10 ns each, and is asked at every look.
struct pause_counting_world : scripted_world {
  static constexpr int longest = 50;

  static deadline after(std::int64_t pauses) noexcept {
    return deadline{std::chrono::nanoseconds{10 * (now_playing.pauses + pauses)}};
  }
  static std::uint32_t pauses_in(std::chrono::nanoseconds length) noexcept {
    return static_cast<std::uint32_t>(length.count() / 10);
  }
  static bool passed(deadline limit) noexcept { return after(0) >= limit; }
  static deadline spin_limit(
      std::chrono::nanoseconds most = std::chrono::nanoseconds::max()) noexcept {
    return after(std::min<std::int64_t>(longest, most.count() / 10));
  }

  template <class Atomic, class Predicate, class Policy, class... Deadline>
  static auto await(const Atomic& word, Predicate predicate, std::memory_order order,
                    Policy&& policy, Deadline... limit) noexcept {
    if constexpr (sizeof...(limit) == 0) {
      return scripted_world::await(word, predicate, order, policy);
    } else {
      using found = std::optional<typename Atomic::value_type>;
      for (auto value = word.load(order);; value = word.load(order)) {
        if (predicate(value)) return found{value};
        if ((passed(limit) && ...)) return found{};
        policy.template step<pause_counting_world>();
      }
    }
  }
};

using scripted_mutex = basic_adaptive_mutex<pause_counting_world>;

class AdaptiveMutex : public ::testing::Test {
 protected:
  void SetUp() override { scripted_world::now_playing = {}; }

  static script& played() { return scripted_world::now_playing; }

  /// The looks of a lock() that finds the mutex held and released only to sleepers.
  static int looks_until_it_sleeps(scripted_mutex& mutex) {
    played() = {};
    mutex.lock();
    played().on_wait = [&] {
      if (played().waits == 1) mutex.unlock();
    };
    mutex.lock();
    mutex.unlock();
    return played().pauses;
  }

  /// How often lock() sleeps that finds the mutex held, and released after so many looks.
  static int sleeps_in_a_wait_of(scripted_mutex& mutex, int looks) {
    mutex.lock();
    played() = {};
    played().on_wait = [&mutex, looks] {
      if (played().pauses == looks) mutex.unlock();
    };
    mutex.lock();
    mutex.unlock();
    return played().waits;
  }

  /// Waits that are a little longer each time, and always succeed.
  static void teach_longest(scripted_mutex& mutex) {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(sleeps_in_a_wait_of(mutex, std::min(10 + i / 2, 48)), 0);
    }
  }
};

TEST_F(AdaptiveMutex, stays_out_of_the_kernel_if_it_gets_the_lock_while_it_spins) {
  scripted_mutex mutex;
  mutex.lock();
  played().on_wait = [&] {
    if (played().pauses == 5) mutex.unlock();
  };
  mutex.lock();
  mutex.unlock();
  EXPECT_EQ(played().pauses, 5);
  EXPECT_EQ(played().waits, 0);
  EXPECT_EQ(played().wakes, 0);
}

TEST_F(AdaptiveMutex, sleeps_once_spinning_has_taken_too_long) {
  scripted_mutex mutex;
  EXPECT_EQ(looks_until_it_sleeps(mutex), 10);
  EXPECT_EQ(played().waits, 1);
  EXPECT_EQ(played().wakes, 2) << "a second sleeper would have been forgotten";
}

TEST_F(AdaptiveMutex, spins_longer_where_that_helps_but_never_longer_than_a_sleep_costs) {
  scripted_mutex mutex;
  teach_longest(mutex);
  EXPECT_EQ(looks_until_it_sleeps(mutex), pause_counting_world::longest);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(sleeps_in_a_wait_of(mutex, 1), 0);
  EXPECT_LT(looks_until_it_sleeps(mutex), 15) << "spins that are soon over make it shorter";
}

TEST_F(AdaptiveMutex, learns_to_sleep_soon_where_spins_are_in_vain) {
  scripted_mutex mutex;
  teach_longest(mutex);
  int before = looks_until_it_sleeps(mutex);
  for (int i = 0; i < 40; ++i) {
    const int looks = looks_until_it_sleeps(mutex);
    EXPECT_LE(looks, before);
    before = looks;
  }
  EXPECT_EQ(before, 10);
}

/// Others take the lock between this thread's look and its try, which takes as long as a pause.
struct losing_world : pause_counting_world {
  template <class T>
  struct atomic : std::atomic<T> {
    using std::atomic<T>::atomic;
    static bool compare_exchange_strong(T&, T, std::memory_order, std::memory_order) noexcept {
      pause();
      return false;
    }
  };
};

TEST_F(AdaptiveMutex, stops_spinning_at_the_limit_though_the_lock_was_free_at_each_look) {
  basic_adaptive_mutex<losing_world> mutex;
  mutex.lock();
  EXPECT_EQ(played().waits, 0) << "it took the free lock as a sleeper does";
  EXPECT_EQ(played().pauses, 11) << "one try at first, and the spin";
}

TEST_F(AdaptiveMutex, gives_up_at_its_deadline_and_leaves_the_others_to_be_woken) {
  scripted_mutex mutex;
  mutex.lock();
  played().deadlines_pass = true;
  EXPECT_FALSE(mutex.try_lock_for(std::chrono::milliseconds{1}));
  mutex.unlock();
  EXPECT_EQ(played().wakes, 1);
  EXPECT_TRUE(mutex.try_lock());
}

}  // namespace
}  // namespace lockyard::testing
