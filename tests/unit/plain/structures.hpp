// SPDX-License-Identifier: Apache-2.0
#pragma once

// Structures that threads share without a lock. Each takes an order, of which the weaker one is a
// fault.

#include <atomic>
#include <cassert>

namespace plain_structures {

using enum std::memory_order;

struct item {
  int value;
  item* next;
};

template <std::memory_order Publish>
struct stack {
  static constexpr unsigned threads = 2;
  std::atomic<item*> top{nullptr};
  void thread(unsigned index) {
    if (index == 0) {
      auto* const pushed = new item{42, top.load(relaxed)};
      while (!top.compare_exchange_weak(pushed->next, pushed, Publish, relaxed)) {
      }
    } else {
      item* found = top.load(acquire);
      while (found != nullptr && !top.compare_exchange_weak(found, found->next, acquire, acquire)) {
      }
      assert(found == nullptr || found->value == 42);
    }
  }
};

/// A ring for one producer and one consumer.
template <std::memory_order Publish>
struct ring {
  static constexpr unsigned threads = 2;
  int places[2] = {};
  std::atomic<unsigned> read{0};
  std::atomic<unsigned> written{0};
  void thread(unsigned index) {
    for (int i = 1; i <= 3; ++i) index == 0 ? put(i) : take(i);
  }
  void put(int value) {
    const unsigned at = written.load(relaxed);
    while (at - read.load(acquire) == 2) {
    }
    places[at % 2] = value;
    written.store(at + 1, Publish);
  }
  void take(int expected) {
    const unsigned at = read.load(relaxed);
    while (written.load(acquire) == at) {
    }
    assert(places[at % 2] == expected);
    read.store(at + 1, release);
  }
};

template <std::memory_order Fence>
struct seqlock {
  static constexpr unsigned threads = 2;
  std::atomic<unsigned> version{0};
  std::atomic<int> first{0};
  std::atomic<int> second{0};
  void thread(unsigned index) {
    if (index == 0) {
      version.store(1, relaxed);
      std::atomic_thread_fence(release);
      first.store(1, relaxed);
      second.store(1, relaxed);
      version.store(2, release);
      return;
    }
    for (;;) {
      const unsigned before = version.load(acquire);
      const int a = first.load(relaxed);
      const int b = second.load(relaxed);
      std::atomic_thread_fence(Fence);
      if (before % 2 != 0 || version.load(relaxed) != before) continue;
      assert(a == b);
      return;
    }
  }
};

/// A reader protects what it reads by a hazard pointer; a writer frees what it has replaced.
template <std::memory_order Fence>
struct hazard {
  static constexpr unsigned threads = 2;
  std::atomic<int*> current{new int{1}};
  std::atomic<int*> used{nullptr};
  void thread(unsigned index) {
    if (index == 0) {
      int* mine = nullptr;
      do {
        mine = current.load(relaxed);
        used.store(mine, relaxed);
        std::atomic_thread_fence(Fence);
      } while (current.load(acquire) != mine);
      assert(*mine != 0);
      used.store(nullptr, release);
    } else {
      int* const old = current.exchange(new int{2}, acq_rel);
      std::atomic_thread_fence(seq_cst);
      while (used.load(acquire) == old) {
      }
      delete old;
    }
  }
};

template <std::memory_order Drop>
struct counted {
  static constexpr unsigned threads = 2;
  struct shared {
    std::atomic<int> owners{2};
    int value = 0;
  };
  shared* object = new shared;
  void thread(unsigned index) {
    if (index == 0) object->value = 1;
    if (object->owners.fetch_sub(1, Drop) == 1) delete object;
  }
};

}  // namespace plain_structures
