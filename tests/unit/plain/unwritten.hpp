// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory that becomes a word although nothing has been written to it. Thread `First` is the one
// that comes first in the fault.

#include <pthread.h>

#include <atomic>
#include <cassert>
#include <cstdlib>
#include <new>

namespace plain_unwritten {

inline constexpr auto relaxed = std::memory_order_relaxed;

/// A word on the heap, which the constructor leaves as it is.
struct heap_word {
  static constexpr unsigned threads = 2;
  int* word = static_cast<int*>(std::malloc(sizeof(int)));
  heap_word() = default;
  heap_word(const heap_word&) = delete;
  heap_word& operator=(const heap_word&) = delete;
  ~heap_word() { std::free(word); }
};

/// A thread writes the first value when another one may have read already.
template <unsigned First>
struct late_value : heap_word {
  void thread(unsigned index) {
    if (index == First) {
      static_cast<void>(std::atomic_ref{*word}.load(relaxed));
    } else {
      std::atomic_ref{*word}.store(1, relaxed);
    }
  }
};

/// The same with a sum, which has no first value.
template <unsigned First>
struct sum : heap_word {
  void thread(unsigned index) {
    if (index == First) std::atomic_ref{*word}.fetch_add(1, relaxed);
  }
};

/// The same with a mutex.
template <unsigned First>
struct late_mutex : heap_word {
  pthread_mutex_t* lock = static_cast<pthread_mutex_t*>(std::malloc(sizeof(pthread_mutex_t)));
  late_mutex() = default;
  late_mutex(const late_mutex&) = delete;
  late_mutex& operator=(const late_mutex&) = delete;
  ~late_mutex() { std::free(lock); }
  void thread(unsigned index) {
    if (index == First) pthread_mutex_lock(lock);
  }
};

/// An exchange may write the first value, and a value may be one that fills new memory.
struct first_exchange : heap_word {
  unsigned char* byte = new unsigned char{0xfe};
  void thread(unsigned /*index*/) {
    const int found = std::atomic_ref{*word}.exchange(1, relaxed);
    static_cast<void>(found);
    assert(std::atomic_ref{*word}.load(relaxed) == 1);
    assert(std::atomic_ref{*byte}.load(relaxed) == 0xfe);
  }
};

struct node {
  int next;  ///< an atomic object of C, so it has no constructor
  int waits;
};

/// A variable on the stack, all of it or one member, in each turn of a loop.
template <bool Forgets>
struct local_words {
  static constexpr unsigned threads = 2;
  [[gnu::noinline]] static int value_of(int& word) { return std::atomic_ref{word}.load(relaxed); }
  [[gnu::noinline]] static void write(int& word) { std::atomic_ref{word}.store(1, relaxed); }
  void thread(unsigned index) {
    for (unsigned turn = 0; turn < 2; ++turn) {
      node own;  // NOLINT(*-member-init): that is what it is about
      write(own.waits);
      node copied = own;  // all bytes, also those that hold nothing
      if (!Forgets || index == 0) write(copied.next);
      assert(value_of(copied.next) == 1 && value_of(copied.waits) == 1);
    }
  }
};

template <bool Forgets>
struct local_number {
  static constexpr unsigned threads = 2;
  void thread(unsigned index) {
    int number;  // NOLINT(*-init-variables): that is what it is about
    if (!Forgets || index == 0) local_words<false>::write(number);
    assert(local_words<false>::value_of(number) != 0);
  }
};

}  // namespace plain_unwritten
