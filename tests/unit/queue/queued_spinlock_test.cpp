// SPDX-License-Identifier: Apache-2.0
#include <lockyard/queue/queued_spinlock.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "support/exclusion.hpp"
#include "support/queues.hpp"

namespace lockyard::testing {
namespace {

TEST(QueuedSpinlock, grants_in_order_of_arrival) {
  EXPECT_TRUE(grants_in_order<basic_queued_spinlock<counting_world>>());
}

TEST(QueuedSpinlock, refuses_try_lock_while_somebody_waits) {
  EXPECT_TRUE(refuses_try_while_waited_for<basic_queued_spinlock<counting_world>>());
}

/// A world whose threads have no slot.
struct slotless_world : native {
  static std::uint32_t thread_slot() noexcept { return no_slot; }
};

TEST(QueuedSpinlock, excludes_threads_that_have_no_node) {
  basic_queued_spinlock<slotless_world> lock;
  EXPECT_TRUE(counts_exactly_in_order(lock));
}

TEST(QueuedSpinlock, gives_a_thread_four_nodes_and_takes_each_back) {
  using nodes = lockyard::detail::queue_nodes<native>;
  std::array<std::uint32_t, nodes::levels> taken{};
  for (auto& number : taken) {
    number = nodes::claim(1);
    EXPECT_NE(number, nodes::none);
  }
  EXPECT_EQ(nodes::claim(1), nodes::none);
  for (const auto number : taken) nodes::of(number).store(0);
  EXPECT_EQ(nodes::claim(1), taken.front());
  nodes::of(taken.front()).store(0);
}

}  // namespace
}  // namespace lockyard::testing
