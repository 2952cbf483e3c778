// SPDX-License-Identifier: Apache-2.0
#include <lockyard/queue/array_spinlock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "support/exclusion.hpp"
#include "support/queues.hpp"

namespace lockyard::testing {
namespace {

TEST(ArraySpinlock, grants_in_order_of_arrival) {
  EXPECT_TRUE(grants_in_order<basic_array_spinlock<counting_world>>());
}

TEST(ArraySpinlock, grants_in_order_of_arrival_to_more_waiters_than_slots) {
  EXPECT_TRUE((grants_in_order<basic_array_spinlock<counting_world, 2>>()));
  EXPECT_TRUE((counts_exactly<basic_array_spinlock<native, 2>>(6, 300)));
}

TEST(ArraySpinlock, refuses_try_lock_while_somebody_waits) {
  EXPECT_TRUE(refuses_try_while_waited_for<basic_array_spinlock<counting_world>>());
}

/// A world in which tickets begin three before they wrap around.
struct edge_world : scripted_world {
  template <class T>
  struct atomic : std::atomic<T> {
    constexpr atomic() noexcept = default;
    constexpr atomic(T initial) noexcept : std::atomic<T>{at_edge(initial)} {}
    static constexpr T at_edge(T initial) noexcept {
      if constexpr (std::is_same_v<T, std::uint32_t>) return initial - 3;
      return initial;
    }
  };
};

TEST(ArraySpinlock, goes_on_when_its_tickets_wrap_around) {
  scripted_world::now_playing = {};
  basic_array_spinlock<edge_world, 4> lock;
  for (int i = 0; i < 8; ++i) {
    lock.lock();
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
  }
  EXPECT_EQ(scripted_world::now_playing.pauses, 0);
  EXPECT_TRUE(lock.try_lock());
}

}  // namespace
}  // namespace lockyard::testing
