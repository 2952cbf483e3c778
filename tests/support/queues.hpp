// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every lock that serves its waiters in order has to do. The lock lives in counting_world, so
// that a thread is known to be in line: it comes to an await with its place taken.

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "support/worlds.hpp"

namespace lockyard::testing {

/// Starts a thread and returns it when it waits in line.
template <class Work>
std::thread start_waiter(Work work) {
  const int before = counting_world::awaits;
  std::thread waiter{work};
  while (counting_world::awaits == before) std::this_thread::yield();
  return waiter;
}

/// Whether so many waiters get the lock in the order in which they came.
template <class Lock>
bool grants_in_order(int waiters = 6) {
  Lock lock;
  std::vector<int> order;
  std::vector<std::thread> team;
  lock.lock();
  for (int waiter = 0; waiter < waiters; ++waiter) {
    team.push_back(start_waiter([&lock, &order, waiter] {
      lock.lock();
      order.push_back(waiter);
      lock.unlock();
    }));
  }
  lock.unlock();
  for (auto& thread : team) thread.join();
  return static_cast<int>(order.size()) == waiters && std::is_sorted(order.begin(), order.end());
}

/// Whether try_lock fails while a thread waits, and succeeds when it has been served.
template <class Lock>
bool refuses_try_while_waited_for() {
  Lock lock;
  lock.lock();
  std::thread waiter = start_waiter([&lock] {
    lock.lock();
    lock.unlock();
  });
  const bool admitted_early = lock.try_lock();
  lock.unlock();
  waiter.join();
  const bool admitted = lock.try_lock();
  if (admitted) lock.unlock();
  return !admitted_early && admitted;
}

/// Whether a lock that draws tickets goes on when they wrap around.
template <template <world, auto...> class Basic, auto... Parameters>
bool survives_the_end_of_its_tickets() {
  const script& played = scripted_world::now_playing = {};
  Basic<near_edge<scripted_world, 6>, Parameters...> lock;
  for (int acquisition = 1; acquisition <= 8; ++acquisition) {
    lock.lock();
    if (lock.try_lock()) return false;
    lock.unlock();
  }
  return played.pauses + played.waits == 0 && lock.try_lock();
}

/// Whether a thread that comes back with the node it had waits again.
template <class Lock>
bool waits_again_with_the_same_node() {
  script& played = scripted_world::now_playing = {};
  Lock lock;
  typename Lock::node node;
  for (int acquisition = 1; acquisition <= 2; ++acquisition) {
    lock.lock();
    played.on_wait = [&] {
      if (std::exchange(played.on_wait, nullptr)) lock.unlock();
    };
    lock.lock(node);
    if (played.pauses != acquisition) return false;
    lock.unlock(node);
  }
  return lock.try_lock();
}

/// Whether a thread may hold several and release them in another order than it took them in.
template <class Lock>
bool may_be_released_in_any_order() {
  Lock first, second, third;
  first.lock();
  const typename Lock::guard guard{second};
  third.lock();
  first.unlock();
  third.unlock();
  return first.try_lock() && third.try_lock() && !second.try_lock();
}

}  // namespace lockyard::testing
