// SPDX-License-Identifier: Apache-2.0
#include <lockyard/queue/clh_spinlock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "support/exclusion.hpp"
#include "support/queues.hpp"

namespace lockyard::testing {
namespace {

TEST(ClhSpinlock, grants_in_order_of_arrival) {
  EXPECT_TRUE(grants_in_order<basic_clh_spinlock<counting_world>>());
}

TEST(ClhSpinlock, refuses_try_lock_while_somebody_waits) {
  EXPECT_TRUE(refuses_try_while_waited_for<basic_clh_spinlock<counting_world>>());
}

TEST(ClhSpinlock, waits_again_with_a_node_that_has_been_used) {
  EXPECT_TRUE(waits_again_with_the_same_node<basic_clh_spinlock<scripted_world>>());
}

TEST(ClhSpinlock, may_be_held_with_others_and_released_in_any_order) {
  EXPECT_TRUE(may_be_released_in_any_order<clh_spinlock>());
}

/// A world whose threads have no slot, and so no nodes.
struct slotless_world : native {
  static std::uint32_t thread_slot() noexcept { return no_slot; }
};

TEST(ClhSpinlock, excludes_threads_that_have_no_node) {
  basic_clh_spinlock<slotless_world> lock;
  EXPECT_TRUE(counts_exactly_in_order(lock));
}

TEST(ClhSpinlock, gives_its_nodes_back) {
  using nodes = lockyard::detail::queue_nodes<scripted_world>;
  for (std::uint32_t i = 0; i < 2 * nodes::levels; ++i) {
    script& played = scripted_world::now_playing = {};
    basic_clh_spinlock<scripted_world> lock;
    lock.lock();
    played.on_wait = [&] { lock.unlock(); };
    lock.lock();
    lock.unlock();
  }
  const std::uint32_t number = nodes::claim(1);
  EXPECT_EQ(number % nodes::levels, 1) << "the first of the thread's";
  nodes::of(number).store(0);
}

TEST(ClhSpinlock, gives_back_a_node_that_somebody_waited_behind) {
  using nodes = lockyard::detail::queue_nodes<counting_world>;
  basic_clh_spinlock<counting_world> lock;
  std::atomic<bool> has_left{false};
  std::uint32_t number = nodes::none;
  counting_world::awaits = 0;
  lock.lock();
  std::thread ahead{[&] {
    lock.lock();
    lock.unlock();
    while (!has_left) std::this_thread::yield();
    number = nodes::claim(1);
    nodes::of(number).store(0);
  }};
  while (counting_world::awaits < 1) std::this_thread::yield();
  std::thread behind{[&] {
    lock.lock();
    lock.unlock();
    has_left = true;
  }};
  while (counting_world::awaits < 2) std::this_thread::yield();
  lock.unlock();
  ahead.join();
  behind.join();
  EXPECT_EQ(number % nodes::levels, 1) << "the first of the thread's";
}

}  // namespace
}  // namespace lockyard::testing
