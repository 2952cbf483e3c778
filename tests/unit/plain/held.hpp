// SPDX-License-Identifier: Apache-2.0
#pragma once

// Locks of the library that a thread holds where it must not, and what may look like that.

#include <pthread.h>

#include <atomic>
#include <cassert>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>

namespace plain_held {

/// A lock whose memory is freed; `Holds` says whether a thread holds it then.
template <class Lock, bool Holds>
struct freed {
  static constexpr unsigned threads = 1;
  void thread(unsigned /*index*/) {
    auto lock = std::make_unique<Lock>();
    lock->lock();
    if (!Holds) lock->unlock();
    lock.reset();
  }
};

/// The same at the end of a function.
template <bool Holds>
struct local {
  static constexpr unsigned threads = 1;
  [[gnu::noinline]] static void use() {
    std::shared_mutex lock;
    lock.lock_shared();
    if (!Holds) lock.unlock_shared();
  }
  void thread(unsigned /*index*/) { use(); }
};

/// A new lock is made in the memory of a held one.
template <bool Holds>
struct made_again {
  static constexpr unsigned threads = 1;
  void thread(unsigned /*index*/) {
    alignas(std::mutex) unsigned char memory[sizeof(std::mutex)];
    auto* const lock = new (memory) std::mutex;
    lock->lock();
    if (!Holds) lock->unlock();
    lock->~mutex();
    new (memory) std::mutex;
  }
};

/// The last user of an object frees it, and has it locked.
template <bool Holds>
struct counted {
  static constexpr unsigned threads = 2;
  struct object {
    std::mutex lock;
    int users = 2;
  };
  object* shared = new object;
  void thread(unsigned /*index*/) {
    shared->lock.lock();
    const bool is_last = --shared->users == 0;
    if (!Holds || !is_last) shared->lock.unlock();
    if (is_last) delete shared;
  }
};

/// The thread that ends holds the lock: POSIX permits it for its own.
template <class Lock>
struct kept {
  static constexpr unsigned threads = 1;
  Lock lock;
  void thread(unsigned /*index*/) { lock.lock(); }
};
struct posix_lock {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  void lock() { pthread_mutex_lock(&mutex); }
};

/// Two threads may wait at the same time.
template <bool HaveOne>
struct waits_with_two {
  static constexpr unsigned threads = 3;
  std::mutex locks[2];
  std::condition_variable changed;
  bool is_ready[2] = {};
  void thread(unsigned index) {
    if (index != 2) {
      const unsigned mine = HaveOne ? 0 : index;
      std::unique_lock held{locks[mine]};
      changed.wait(held, [&] { return is_ready[index]; });
      return;
    }
    for (unsigned each : {0U, 1U}) {
      const std::lock_guard held{locks[HaveOne ? 0 : each]};
      is_ready[each] = true;
    }
    changed.notify_all();
  }
};

}  // namespace plain_held
