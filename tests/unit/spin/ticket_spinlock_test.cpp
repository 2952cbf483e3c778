// SPDX-License-Identifier: Apache-2.0
#include <lockyard/spin/ticket_spinlock.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/queues.hpp"
#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

TEST(TicketSpinlock, grants_in_order_of_arrival) {
  basic_ticket_spinlock<counting_world> lock;
  lock.lock();
  std::vector<int> order;
  std::vector<std::thread> waiters;
  for (int waiter = 0; waiter < 6; ++waiter) {
    const int before = counting_world::awaits;
    waiters.emplace_back([&, waiter] {
      lock.lock();
      order.push_back(waiter);
      lock.unlock();
    });
    // A thread comes to its await with its ticket drawn.
    while (counting_world::awaits == before) std::this_thread::yield();
  }
  lock.unlock();
  for (auto& thread : waiters) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(TicketSpinlock, refuses_try_lock_while_somebody_waits) {
  basic_ticket_spinlock<counting_world> lock;
  lock.lock();
  const int before = counting_world::awaits;
  std::thread waiter{[&] {
    lock.lock();
    lock.unlock();
  }};
  while (counting_world::awaits == before) std::this_thread::yield();
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  waiter.join();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(TicketSpinlock, goes_on_when_its_tickets_wrap_around) {
  EXPECT_TRUE((survives_the_end_of_its_tickets<basic_ticket_spinlock>()));
}

}  // namespace
}  // namespace lockyard::testing
