// SPDX-License-Identifier: Apache-2.0
#include <lockyard/queue/mcs_spinlock.hpp>

#include <gtest/gtest.h>

#include "support/queues.hpp"

namespace lockyard::testing {
namespace {

TEST(McsSpinlock, grants_in_order_of_arrival) {
  EXPECT_TRUE(grants_in_order<basic_mcs_spinlock<counting_world>>());
}

TEST(McsSpinlock, refuses_try_lock_while_somebody_waits) {
  EXPECT_TRUE(refuses_try_while_waited_for<basic_mcs_spinlock<counting_world>>());
}

TEST(McsSpinlock, waits_again_with_a_node_that_has_been_used) {
  EXPECT_TRUE(waits_again_with_the_same_node<basic_mcs_spinlock<scripted_world>>());
}

TEST(McsSpinlock, may_be_held_with_others_and_released_in_any_order) {
  EXPECT_TRUE(may_be_released_in_any_order<mcs_spinlock>());
}

}  // namespace
}  // namespace lockyard::testing
