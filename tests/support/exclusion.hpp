// SPDX-License-Identifier: Apache-2.0
#pragma once

// The duties of every lock, as functions that check them.

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace lockyard::testing {

/// Whether another thread's try_lock is admitted just now.
template <class Lock>
bool tried_elsewhere(Lock& lock) {
  bool admitted = false;
  std::thread{[&] {
    admitted = lock.try_lock();
    if (admitted) lock.unlock();
  }}.join();
  return admitted;
}

/// Whether the lock refuses another thread's try_lock while it is held, and admits it afterwards.
template <class Lock>
bool refuses_while_held(Lock& lock) {
  lock.lock();
  const bool admitted_while_held = tried_elsewhere(lock);
  lock.unlock();
  return !admitted_while_held && tried_elsewhere(lock);
}

/// Whether no update of a plain counter is lost. Every third acquisition is by try_lock.
template <class Lock>
bool counts_exactly(Lock& lock, unsigned threads, std::uint64_t rounds) {
  std::uint64_t counter = 0;
  std::vector<std::thread> team;
  for (unsigned t = 0; t < threads; ++t) {
    team.emplace_back([&] {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        if (i % 3 != 0 || !lock.try_lock()) lock.lock();
        counter = counter + 1;
        lock.unlock();
      }
    });
  }
  for (auto& thread : team) thread.join();
  return counter == threads * rounds;
}

/// The same for locks whose waiters keep their processors and are served in their order. A team of
/// more threads than processors would need a time slice for each acquisition; so does a team on a
/// busy machine, which is why the rounds are few.
template <class Lock>
bool counts_exactly_in_order(Lock& lock) {
  return counts_exactly(lock, std::clamp(std::thread::hardware_concurrency(), 2U, 4U), 300);
}

}  // namespace lockyard::testing
