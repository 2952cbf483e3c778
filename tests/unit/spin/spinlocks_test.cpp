// SPDX-License-Identifier: Apache-2.0

// How each spinlock passes its time.

#include <lockyard/spin/tas_spinlock.hpp>
#include <lockyard/spin/ticket_spinlock.hpp>
#include <lockyard/spin/ttas_spinlock.hpp>
#include <lockyard/spin/yielding_spinlock.hpp>

#include <gtest/gtest.h>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

script& played() {
  return scripted_world::now_playing;
}

/// Has the lock wait until it has paused and yielded so many times in all.
template <class Lock>
void wait_for_steps(int steps) {
  played() = {};
  Lock lock;
  lock.lock();
  played().on_wait = [&lock, steps] {
    if (played().pauses + played().yields == steps) lock.unlock();
  };
  lock.lock();
  lock.unlock();
}

TEST(TtasSpinlock, pauses_and_never_yields) {
  wait_for_steps<basic_ttas_spinlock<scripted_world>>(50);
  EXPECT_EQ(played().pauses, 50);
  EXPECT_EQ(played().yields, 0);
}

TEST(YieldingSpinlock, yields_once_after_every_sixteen_pauses) {
  wait_for_steps<basic_yielding_spinlock<scripted_world>>(34);
  EXPECT_EQ(played().pauses, 32);
  EXPECT_EQ(played().yields, 2);
}

TEST(TicketSpinlock, yields_once_after_every_sixteen_pauses) {
  wait_for_steps<basic_ticket_spinlock<scripted_world>>(34);
  EXPECT_EQ(played().pauses, 32);
  EXPECT_EQ(played().yields, 2);
}

/// A world in which another thread releases the lock during the third exchange, and every step of
/// a policy is counted.
struct exchanging_world : derived_world<exchanging_world, native> {
  static inline int exchanges = 0;
  static inline int steps = 0;

  template <class Atomic, class T, class Predicate, class Policy>
  static T await_exchange(Atomic& word, T desired, Predicate predicate, std::memory_order order,
                          Policy&& policy) noexcept {
    const auto releasing = [&](T value) {
      if (++exchanges == 2) word.store(T{}, std::memory_order_release);
      return predicate(value);
    };
    return spinning<exchanging_world>::await_exchange(word, desired, releasing, order, policy);
  }
  static void pause() noexcept { ++steps; }
  static void yield() noexcept { ++steps; }
};

TEST(TasSpinlock, does_nothing_but_exchange) {
  basic_tas_spinlock<exchanging_world> lock;
  EXPECT_TRUE(lock.try_lock());
  lock.lock();
  EXPECT_EQ(exchanging_world::exchanges, 3);
  EXPECT_EQ(exchanging_world::steps, 0);
  lock.unlock();
}

}  // namespace
}  // namespace lockyard::testing
