// SPDX-License-Identifier: Apache-2.0
#pragma once

// Clients of the standard library's and of the C library's means of synchronisation. Each has a
// sibling with a fault: it leaves the means out, or uses a part of it only.

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <barrier>
#include <cassert>
#include <condition_variable>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>

namespace plain_library {

/// A writer and a reader of two values that agree outside the lock.
template <bool Locks>
struct shared_values {
  static constexpr unsigned threads = 2;
  std::shared_mutex lock;
  int first = 0;
  int second = 0;
  void thread(unsigned index) {
    if (index == 0) {
      const std::unique_lock held{lock};
      ++first;
      ++second;
    } else if constexpr (Locks) {
      const std::shared_lock held{lock};
      assert(first == second);
    } else {
      assert(first == second);
    }
  }
};

template <bool Locks>
struct c_rwlock {
  static constexpr unsigned threads = 2;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  int value = 0;
  void thread(unsigned index) {
    if (!Locks || index == 0) {
      pthread_rwlock_wrlock(&lock);
      ++value;
      pthread_rwlock_unlock(&lock);
    } else {
      pthread_rwlock_rdlock(&lock);
      const int seen = value;
      pthread_rwlock_unlock(&lock);
      if (!Locks) value = seen;
    }
    if (!Locks) value = 0;
  }
};

template <bool Locks>
struct c_spinlock {
  static constexpr unsigned threads = 2;
  pthread_spinlock_t lock;
  int value = 0;
  c_spinlock() { pthread_spin_init(&lock, 0); }
  void thread(unsigned /*index*/) {
    if (Locks) pthread_spin_lock(&lock);
    ++value;
    if (Locks) pthread_spin_unlock(&lock);
  }
  void finish() { assert(value == 2); }
};

template <unsigned Posts>
struct c_semaphore {
  static constexpr unsigned threads = 2;
  sem_t tokens;
  c_semaphore() { sem_init(&tokens, 0, 0); }
  void thread(unsigned index) {
    for (unsigned i = 0; i < (index == 0 ? Posts : 2); ++i) {
      index == 0 ? sem_post(&tokens) : sem_wait(&tokens);
    }
  }
};

template <unsigned Count>
struct c_barrier {
  static constexpr unsigned threads = 2;
  pthread_barrier_t barrier;
  int values[2] = {};
  c_barrier() { pthread_barrier_init(&barrier, nullptr, Count); }
  void thread(unsigned index) {
    values[index] = 1;
    pthread_barrier_wait(&barrier);
    assert(values[1 - index] == 1);
  }
};

template <bool Once>
struct called_once {
  static constexpr unsigned threads = 2;
  std::once_flag once;
  int calls = 0;
  void thread(unsigned /*index*/) {
    if constexpr (Once) {
      std::call_once(once, [this] { ++calls; });
    } else {
      ++calls;
    }
    assert(calls == 1);
  }
};

/// A value under a key belongs to its thread.
template <bool OfThreads>
struct c_key {
  static constexpr unsigned threads = 2;
  static inline pthread_key_t key;
  static inline pthread_once_t made = PTHREAD_ONCE_INIT;
  static inline void* shared = nullptr;
  void thread(unsigned index) {
    pthread_once(&made, [] { pthread_key_create(&key, nullptr); });
    auto* const mine = reinterpret_cast<void*>(index + 1UL);
    if constexpr (OfThreads) {
      assert(pthread_getspecific(key) == nullptr);
      pthread_setspecific(key, mine);
      assert(pthread_getspecific(key) == mine);
    } else {
      shared = mine;
    }
  }
};

/// std::atomic::wait of an object that no futex has the size of.
template <bool Notifies, class T>
struct atomic_waits {
  static constexpr unsigned threads = 2;
  std::atomic<T> word{0};
  int value = 0;
  void thread(unsigned index) {
    if (index == 0) {
      value = 42;
      word.store(1, std::memory_order_release);
      if (Notifies) word.notify_one();
    } else {
      word.wait(0, std::memory_order_acquire);
      assert(value == 42);
    }
  }
};

template <bool Notifies>
struct flag_waits {
  static constexpr unsigned threads = 2;
  std::atomic_flag flag;
  int value = 0;
  void thread(unsigned index) {
    if (index == 0) {
      value = 42;
      flag.test_and_set(std::memory_order_release);
      if (Notifies) flag.notify_all();
    } else {
      flag.wait(false, std::memory_order_acquire);
      assert(value == 42);
    }
  }
};

template <int Tokens>
struct semaphore {
  static constexpr unsigned threads = 2;
  std::counting_semaphore<4> tokens{Tokens};
  int value = 0;
  void thread(unsigned /*index*/) {
    tokens.acquire();
    ++value;
    tokens.release();
  }
  void finish() { assert(value == 2); }
};

template <int Count>
struct latch {
  static constexpr unsigned threads = 2;
  std::latch all{Count};
  int values[2] = {};
  void thread(unsigned index) {
    values[index] = 1;
    all.arrive_and_wait();
    assert(values[1 - index] == 1);
  }
};

/// A condition variable that takes any lock has counted pointers inside.
template <bool Notifies>
struct condition_for_any {
  static constexpr unsigned threads = 2;
  std::mutex lock;
  std::condition_variable_any changed;
  bool is_ready = false;
  void thread(unsigned index) {
    if (index == 0) {
      {
        const std::lock_guard held{lock};
        is_ready = true;
      }
      if (Notifies) changed.notify_one();
    } else {
      std::unique_lock held{lock};
      changed.wait(held, [this] { return is_ready; });
    }
  }
};

/// The last owner reads what the other one wrote before it left.
template <bool Shares>
struct counted_pointer {
  static constexpr unsigned threads = 2;
  std::shared_ptr<int> pointers[2];
  counted_pointer() { pointers[0] = pointers[1] = std::make_shared<int>(3); }
  void thread(unsigned index) {
    auto& mine = pointers[Shares ? 0 : index];
    if (mine) assert(*mine == 3);
    mine.reset();
  }
};

/// Two threads are in handlers of exceptions at the same time.
template <bool Locks>
struct exceptions {
  /// The library's exceptions have constructors in the library, whose accesses are not seen.
  struct fault {
    const char* text;
    [[nodiscard]] const char* what() const { return text; }
  };
  static constexpr unsigned threads = 2;
  std::mutex lock;
  int value = 0;
  void thread(unsigned index) {
    try {
      throw fault{index == 0 ? "0" : "1"};
    } catch (const fault& error) {
      if (Locks) lock.lock();
      value += error.what()[0] - '0' + 1;
      if (Locks) lock.unlock();
      assert(error.what()[0] == static_cast<char>('0' + index));
    }
  }
  void finish() { assert(value == 3); }
};

}  // namespace plain_library
