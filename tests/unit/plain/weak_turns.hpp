// SPDX-License-Identifier: Apache-2.0
#pragma once

// Turns of a loop after a compare-exchange that failed for no reason: the search leaves out the
// executions in which the turn led back to where it began. Thread `First` is the one that comes
// first in the fault, and its compare-exchange has to fail once.

#include <atomic>
#include <cassert>

namespace plain_weak_turns {

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;

/// A turn reads plain data, which the other thread writes after the loop.
template <unsigned First>
struct reads_plain_data {
  static constexpr unsigned threads = 2;
  std::atomic<int> word{0};
  std::atomic<bool> has_ended{false};
  alignas(8) int value = 0;
  void thread(unsigned index) {
    if (index == First) {
      for (int expected = 0; !word.compare_exchange_weak(expected, 1, relaxed); expected = 0) {
        if (value == 1) break;
      }
      has_ended.store(true, relaxed);
    } else if (has_ended.load(relaxed)) {
      value = 2;
    }
  }
};

/// A turn reads another word, which the other thread frees after the loop.
template <unsigned First>
struct reads_a_freed_word {
  static constexpr unsigned threads = 2;
  std::atomic<int> word{0};
  std::atomic<bool> has_ended{false};
  std::atomic<bool>* const other = new std::atomic<bool>{false};
  void thread(unsigned index) {
    if (index == First) {
      for (int expected = 0; !word.compare_exchange_weak(expected, 1, relaxed); expected = 0) {
        if (other->load(relaxed)) break;
      }
      has_ended.store(true, relaxed);
    } else if (has_ended.load(relaxed)) {
      delete other;
    }
  }
};

/// A turn writes to the thread's own stack, which the other thread reads after the loop.
template <unsigned First>
struct writes_its_own_stack {
  static constexpr unsigned threads = 2;
  std::atomic<int*> published{nullptr};
  std::atomic<int> word{0};
  std::atomic<bool> has_ended{false};
  std::atomic<bool> may_end{false};
  void thread(unsigned index) {
    if (index == First) {
      int expected = 0;
      published.store(&expected, release);
      while (!word.compare_exchange_weak(expected, 1, relaxed)) expected = 0;
      has_ended.store(true, relaxed);
      while (!may_end.load(acquire)) {
      }
    } else {
      const int* const theirs = published.load(acquire);
      if (theirs != nullptr && has_ended.load(relaxed)) word.store(*theirs, relaxed);
      may_end.store(true, release);
    }
  }
};

/// A turn writes what another thread reads once the thread has released the word.
template <unsigned First>
struct counts_its_failures {
  static constexpr unsigned threads = 2;
  std::atomic<int> word{0};
  int failures = 0;
  void thread(unsigned index) {
    if (index == First) {
      for (int expected = 0; !word.compare_exchange_weak(expected, 1, release); expected = 0) {
        failures = 1;
      }
    } else if (word.load(acquire) == 1) {
      assert(failures == 0);
    }
  }
};

/// The value that the next attempt would write is another one.
struct takes_the_next_number {
  static constexpr unsigned threads = 2;
  std::atomic<int> word{0};
  std::atomic<int> numbers{1};
  void thread(unsigned index) {
    if (index == 0) return numbers.store(5, relaxed);
    int expected = 0;
    int next = 1;
    while (!word.compare_exchange_weak(expected, next, relaxed)) next = numbers.load(relaxed);
    assert(word.load(relaxed) != 5);
  }
};

/// A lock and a counter whose loops repeat after any failure.
template <bool Weak>
struct locks_and_counts {
  static constexpr unsigned threads = 2;
  std::atomic<unsigned> held{0};
  std::atomic<unsigned> count{0};
  unsigned value = 0;
  static bool change(std::atomic<unsigned>& word, unsigned& expected, unsigned next) {
    return Weak ? word.compare_exchange_weak(expected, next, acq_rel, relaxed)
                : word.compare_exchange_strong(expected, next, acq_rel, relaxed);
  }
  void thread(unsigned) {
    for (int i = 0; i < 2; ++i) {
      for (unsigned none = 0; !change(held, none, 1); none = 0) {
      }
      ++value;
      held.store(0, release);
      unsigned seen = count.load(relaxed);
      while (!change(count, seen, seen + 1)) {
      }
    }
  }
};

}  // namespace plain_weak_turns
