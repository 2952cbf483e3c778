// SPDX-License-Identifier: Apache-2.0
#include <lockyard/queue/cna_spinlock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/queues.hpp"

namespace lockyard::testing {
namespace {

/// A world whose threads say on which NUMA node they run.
struct placed_world : counting_world {
  static inline thread_local std::uint32_t place = 0;
  static std::uint32_t numa_node() noexcept { return place; }
};
static_assert(world<placed_world>);

/// Returns the order in which waiters that arrive on these nodes get a lock. The thread that holds
/// the lock first runs on node 0.
template <class Lock>
std::string order_of_grants(const std::string& nodes) {
  Lock lock;
  std::string order;
  std::vector<std::thread> team;
  lock.lock();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    team.push_back(start_waiter([&lock, &order, &nodes, i] {
      placed_world::place = static_cast<std::uint32_t>(nodes[i] - '0');
      lock.lock();
      order.push_back(static_cast<char>('a' + i));
      lock.unlock();
    }));
  }
  lock.unlock();
  for (auto& thread : team) thread.join();
  return order;
}

using placed_lock = basic_cna_spinlock<placed_world>;

TEST(CnaSpinlock, grants_in_order_of_arrival_on_one_node) {
  EXPECT_TRUE(grants_in_order<placed_lock>());
}

TEST(CnaSpinlock, serves_the_waiters_of_its_node_first_and_then_the_others_in_order) {
  EXPECT_EQ(order_of_grants<placed_lock>("1020110"), "bdgaefc");
  EXPECT_EQ(order_of_grants<placed_lock>("1212"), "acbd");
  EXPECT_EQ(order_of_grants<placed_lock>("12012"), "cadbe");
}

TEST(CnaSpinlock, bypasses_a_waiter_no_more_often_than_its_bound) {
  EXPECT_EQ((order_of_grants<basic_cna_spinlock<placed_world, 2>>("100000")), "bcadef");
  EXPECT_EQ((order_of_grants<basic_cna_spinlock<placed_world, 1>>("10100")), "bacde");
}

TEST(CnaSpinlock, loses_no_update_of_threads_on_two_nodes) {
  using few = basic_cna_spinlock<placed_world, 3>;
  constexpr std::uint32_t threads = 4;
  constexpr std::uint32_t rounds = 200;
  few lock;
  std::uint32_t count = 0;
  std::atomic<std::uint32_t> ready{0};
  std::vector<std::thread> team;
  for (std::uint32_t i = 0; i < threads; ++i) {
    team.emplace_back([&lock, &count, &ready, i] {
      placed_world::place = i % 2;
      ++ready;
      while (ready < threads) std::this_thread::yield();
      for (std::uint32_t round = 0; round < rounds; round += 2) {
        lock.lock();
        ++count;
        std::this_thread::yield();  // the others enqueue meanwhile
        lock.unlock();
        const few::guard guard{lock};
        ++count;
      }
    });
  }
  for (auto& thread : team) thread.join();
  EXPECT_EQ(count, threads * rounds);
}

TEST(CnaSpinlock, refuses_try_lock_while_a_thread_waits) {
  EXPECT_TRUE(refuses_try_while_waited_for<placed_lock>());
}

TEST(CnaSpinlock, waits_again_with_a_node_that_has_been_used) {
  EXPECT_TRUE(waits_again_with_the_same_node<basic_cna_spinlock<scripted_world>>());
}

TEST(CnaSpinlock, may_be_held_with_others_and_released_in_any_order) {
  EXPECT_TRUE(may_be_released_in_any_order<cna_spinlock>());
}

}  // namespace
}  // namespace lockyard::testing
