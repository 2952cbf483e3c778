// SPDX-License-Identifier: Apache-2.0
#include <lockyard/queue/array_spinlock.hpp>

#include <gtest/gtest.h>

#include "support/exclusion.hpp"
#include "support/queues.hpp"

namespace lockyard::testing {
namespace {

TEST(ArraySpinlock, grants_in_order_of_arrival) {
  EXPECT_TRUE(grants_in_order<basic_array_spinlock<counting_world>>());
}

TEST(ArraySpinlock, grants_in_order_of_arrival_to_more_waiters_than_slots) {
  EXPECT_TRUE((grants_in_order<basic_array_spinlock<counting_world, 2>>()));
  basic_array_spinlock<native, 2> lock;
  EXPECT_TRUE(counts_exactly(lock, 3, 100));
}

TEST(ArraySpinlock, refuses_try_lock_while_somebody_waits) {
  EXPECT_TRUE(refuses_try_while_waited_for<basic_array_spinlock<counting_world>>());
}

TEST(ArraySpinlock, goes_on_when_its_tickets_wrap_around) {
  EXPECT_TRUE((survives_the_end_of_its_tickets<basic_array_spinlock, 4U>()));
}

}  // namespace
}  // namespace lockyard::testing
