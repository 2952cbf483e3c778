// SPDX-License-Identifier: Apache-2.0
#pragma once

// oneTBB's locks as classes with lock() and unlock(). Their headers are compiled unchanged. mutex
// and rw_mutex sleep in oneTBB's shared library, whose code the checker would not see: a monitor,
// with a mutex and a condition variable for all addresses, takes its place. queuing_rw_mutex is
// wholly in that library, and so is not here.

#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>

#include <cassert>
#include <condition_variable>
#include <mutex>

namespace tbb::detail::r1 {

inline std::mutex guard;
inline std::condition_variable changed;

void wait_on_address(void* /*address*/, d1::delegate_base& condition, std::uintptr_t /*context*/) {
  std::unique_lock held{guard};
  while (!condition()) changed.wait(held);
}
void notify_by_address_all(void* /*address*/) {
  const std::lock_guard held{guard};
  changed.notify_all();
}
void notify_by_address(void* address, std::uintptr_t /*context*/) {
  notify_by_address_all(address);
}
void notify_by_address_one(void* address) {
  notify_by_address_all(address);
}

}  // namespace tbb::detail::r1

namespace adapters {

using spin_mutex = tbb::spin_mutex;
using mutex = tbb::mutex;

class queuing_mutex {
 public:
  void lock() { mine().acquire(mutex_); }
  bool try_lock() { return mine().try_acquire(mutex_); }
  void unlock() { mine().release(); }

 private:
  static tbb::queuing_mutex::scoped_lock& mine() {
    thread_local tbb::queuing_mutex::scoped_lock scoped;
    return scoped;
  }
  tbb::queuing_mutex mutex_;
};

/// The writers' side.
using spin_rw_mutex = tbb::spin_rw_mutex;
using rw_mutex = tbb::rw_mutex;

/// A client of both sides.
template <class Mutex>
struct writer_and_reader {
  static constexpr unsigned threads = 2;
  Mutex mutex;
  int first = 0;
  int second = 0;
  void thread(unsigned index) {
    if (index == 0) {
      mutex.lock();
      ++first;
      ++second;
      mutex.unlock();
    } else {
      mutex.lock_shared();
      assert(first == second);
      mutex.unlock_shared();
    }
  }
};

}  // namespace adapters
