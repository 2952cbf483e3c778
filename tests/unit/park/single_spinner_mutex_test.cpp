// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/single_spinner_mutex.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

/// An await with a deadline ends by it if the script says so.
struct spinning_world : scripted_world {
  template <class Atomic, class Predicate, class Policy, class... Deadline>
  static auto await(const Atomic& word, Predicate predicate, std::memory_order order,
                    Policy&& policy, Deadline... limit) noexcept {
    if constexpr (sizeof...(limit) != 0) {
      using found = std::optional<typename Atomic::value_type>;
      if (((limit != never) && ...) && now_playing.deadlines_pass) return found{};
    }
    return scripted_world::await(word, predicate, order, policy, limit...);
  }
};

using scripted_mutex = basic_single_spinner_mutex<spinning_world>;

class SingleSpinnerMutex : public ::testing::Test {
 protected:
  void SetUp() override { scripted_world::now_playing = {}; }

  static script& played() { return scripted_world::now_playing; }
  static int spins() { return played().pauses + played().yields; }
};

TEST_F(SingleSpinnerMutex, spins_if_it_is_the_first_to_wait) {
  scripted_mutex mutex;
  mutex.lock();
  played().on_wait = [&] {
    if (spins() == 4) mutex.unlock();
  };
  mutex.lock();
  EXPECT_EQ(played().waits, 0);
  EXPECT_EQ(played().pauses, 2);
  EXPECT_EQ(played().yields, 2) << "pauses and yields in turns";
}

TEST_F(SingleSpinnerMutex, sleeps_if_another_one_spins_and_is_woken_by_that_one) {
  scripted_mutex mutex;
  mutex.lock();
  bool is_spinner = true;
  played().on_wait = [&] {
    if (is_spinner) {
      // While the first waits, a second comes; while that one sleeps, the owner leaves.
      is_spinner = false;
      mutex.lock();
      EXPECT_EQ(played().waits, 1);
      mutex.unlock();
    } else if (played().waits == 1) {
      mutex.unlock();
    }
  };
  mutex.lock();
  mutex.unlock();
  EXPECT_EQ(played().wakes, 3)
      << "a thread that has waited wakes a sleeper, as if there were one more";
}

TEST_F(SingleSpinnerMutex, hands_its_place_on_when_it_gives_up_spinning) {
  scripted_mutex mutex;
  mutex.lock();
  played().deadlines_pass = true;
  EXPECT_FALSE(mutex.try_lock_for(std::chrono::milliseconds{1}));
  EXPECT_EQ(played().waits, 0);
  EXPECT_EQ(played().wakes, 1) << "a thread that slept because this one spun would sleep on";
  played() = {};
  played().on_wait = [&] { mutex.unlock(); };
  mutex.lock();
  EXPECT_EQ(played().waits, 0) << "the next one is to spin";
}

TEST_F(SingleSpinnerMutex, makes_no_system_call_while_nobody_waits) {
  scripted_mutex mutex;
  mutex.lock();
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_EQ(played().wakes, 0);
}

}  // namespace
}  // namespace lockyard::testing
