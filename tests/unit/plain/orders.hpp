// SPDX-License-Identifier: Apache-2.0
#pragma once

// Faults of which a thread that comes later may find no trace. The reduced search runs most of
// their steps in one order; thread `First` is the one that comes first in the fault.

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdlib>

extern "C" {
void __VERIFIER_atomic_begin();  // NOLINT(bugprone-reserved-identifier): the programs' name
void __VERIFIER_atomic_end();    // NOLINT(bugprone-reserved-identifier)
}

namespace plain_orders {

inline constexpr auto relaxed = std::memory_order_relaxed;

/// Plain data is read, becomes a word, and is written as plain data.
template <unsigned First>
struct read_before_a_word {
  static constexpr unsigned threads = 2;
  int value = 0;
  int seen = 0;
  void thread(unsigned index) {
    if (index == First) {
      seen = value;
    } else if (std::atomic_ref{value}.load(relaxed) == 0) {
      value = 1;
    }
  }
};

/// A condition variable is ended, and made again.
template <unsigned First>
struct ended_and_made {
  static constexpr unsigned threads = 2;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  void thread(unsigned index) {
    if (index == First) {
      pthread_cond_destroy(&condition);
    } else {
      pthread_cond_init(&condition, nullptr);
    }
  }
};

/// A mutex is ended, a part of its memory is used for something else, and then it is locked.
template <unsigned First>
struct locked_after_its_end {
  static constexpr unsigned threads = 2;
  union {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct {
      std::byte other[24];  // NOLINT(*-avoid-c-arrays)
      void* next;
    } free;
  };
  std::atomic<int> is_gone{0};
  std::atomic<int> steps{0};
  void thread(unsigned index) {
    if (index == First) {
      pthread_mutex_destroy(&lock);
      is_gone.store(1, relaxed);
      steps.store(1, relaxed);
      free.next = nullptr;
    } else if (is_gone.load(relaxed) == 1) {
      pthread_mutex_lock(&lock);
    }
  }
};

/// A thread reads behind an object, where its owner makes another one later; or frees that.
template <unsigned First, bool Frees>
struct behind_an_object {
  static constexpr unsigned threads = 2;
  static constexpr unsigned distance = 32;
  std::atomic<char*> shared{nullptr};
  std::atomic<int> steps{0};
  int seen[2] = {};  // NOLINT(*-avoid-c-arrays)
  void thread(unsigned index) {
    if (index == First) {
      shared.store(static_cast<char*>(std::calloc(1, 8)), std::memory_order_release);
      steps.store(1, relaxed);
      const void* const another = std::calloc(1, 64);
      if (!Frees) seen[0] = *static_cast<const int*>(another);
    } else if (char* const found = shared.load(std::memory_order_acquire)) {
      Frees ? std::free(found + distance)
            : static_cast<void>(seen[1] = *reinterpret_cast<int*>(found + distance));
    }
  }
};

/// An atomic access reaches beyond an object that has been read before.
template <unsigned First>
struct beyond_what_was_read {
  static constexpr unsigned threads = 2;
  char* const object = static_cast<char*>(std::calloc(1, 12));
  std::atomic<int> steps{0};
  long seen[2] = {};  // NOLINT(*-avoid-c-arrays)
  void thread(unsigned index) {
    if (index == First) {
      steps.store(1, relaxed);
      seen[0] = *reinterpret_cast<int*>(object + 8);
      steps.store(2, relaxed);
    } else {
      seen[1] = __atomic_load_n(reinterpret_cast<long*>(object + 8), __ATOMIC_RELAXED);
    }
  }
};

/// A block that is one step waits in the middle for a lock, which divides it.
template <unsigned First>
struct divided_block {
  static constexpr unsigned threads = 2;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<int> begun{0};
  std::atomic<int> value{0};
  void thread(unsigned index) {
    if (index != First) {
      if (begun.load() == 1) value.fetch_add(1);
      return;
    }
    __VERIFIER_atomic_begin();
    begun.store(1);
    pthread_mutex_lock(&lock);
    const int found = value.load();
    pthread_mutex_unlock(&lock);
    __VERIFIER_atomic_end();
    assert(found == 0);
  }
};

/// A block that only tries to take locks is one step.
template <unsigned First>
struct block_that_tries {
  static constexpr unsigned threads = 2;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  sem_t semaphore{};
  std::atomic<int> value{0};
  block_that_tries() { sem_init(&semaphore, 0, 1); }
  void thread(unsigned index) {
    if (index != First) return static_cast<void>(value.fetch_add(1));
    __VERIFIER_atomic_begin();
    const int before = value.fetch_add(2);
    pthread_mutex_trylock(&mutex);
    pthread_rwlock_tryrdlock(&rwlock);
    sem_trywait(&semaphore);
    assert(value.fetch_add(2) == before + 2);
    __VERIFIER_atomic_end();
  }
};

}  // namespace plain_orders
