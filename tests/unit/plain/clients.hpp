// SPDX-License-Identifier: Apache-2.0
#pragma once

// Clients in the form that `lockyard check --client` takes.

#include <atomic>
#include <cassert>

namespace plain_locks {

/// Gives up after some looks, so that a search follows the first few of them only.
struct counted_spin {
  static constexpr unsigned threads = 2;
  std::atomic<bool> ready{false};
  void thread(unsigned index) {
    if (index == 0) return ready.store(true, std::memory_order_release);
    for (int i = 0; i < 1000 && !ready.load(std::memory_order_acquire); ++i) {
    }
  }
};

struct counter {
  counter() : value{1} {}
  int value;
};

template <bool UsesStatic>
struct lazy_static {
  static constexpr unsigned threads = 2;
  std::atomic<bool> is_made{false};
  int by_hand = 0;
  void thread(unsigned /*index*/) {
    if constexpr (UsesStatic) {
      static const counter made;
      assert(made.value == 1);
    } else if (!is_made.exchange(true, std::memory_order_acq_rel)) {
      by_hand = 1;
    } else {
      assert(by_hand == 1);
    }
  }
};

template <std::memory_order Order>
struct handed_value {
  static constexpr unsigned threads = 2;
  std::atomic<bool> ready{false};
  int value = 0;
  void thread(unsigned index) {
    if (index == 0) {
      value = 42;
      ready.store(true, Order);
    } else if (ready.load(std::memory_order_acquire)) {
      assert(value == 42);
    }
  }
  void finish() { assert(value == 42); }
};

struct late_plain_read {
  static constexpr unsigned threads = 2;
  std::atomic<int> value{0};
  void thread(unsigned index) {
    if (index == 0) return value.store(1, std::memory_order_release);
    assert(*reinterpret_cast<int*>(&value) < 2);
  }
};

struct freed_too_early {
  static constexpr unsigned threads = 2;
  std::atomic<std::atomic<int>*> shared{nullptr};
  void thread(unsigned index) {
    if (index == 0) {
      auto* const made = new std::atomic<int>{1};
      shared.store(made, std::memory_order_release);
      delete made;
    } else if (auto* const found = shared.load(std::memory_order_acquire)) {
      assert(found->load(std::memory_order_relaxed) == 1);
    }
  }
};

/// Each turn of the loop writes twice.
struct adds_and_takes_back {
  std::atomic<int> owners{0};
  void lock() {
    while (owners.fetch_add(1, std::memory_order_acquire) != 0) {
      owners.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  void unlock() { owners.fetch_sub(1, std::memory_order_release); }
};

}  // namespace plain_locks
