// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops in which a weak compare-exchange fails for no reason, and which write plain data meanwhile.

#include <array>
#include <atomic>
#include <cassert>

namespace plain_failures {

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;

struct node {
  node* next = nullptr;
  int value = 0;
};

/// Each turn writes the same bytes, unless the other thread was there.
template <std::memory_order Publish>
void push(std::atomic<node*>& top, node& pushed) {
  node* expected = top.load(relaxed);
  do {
    pushed.next = expected;
  } while (!top.compare_exchange_weak(expected, &pushed, Publish, relaxed));
}

template <std::memory_order Publish>
struct pushes {
  static constexpr unsigned threads = 2;
  std::atomic<node*> top{nullptr};
  std::array<node, 2> nodes;
  void thread(unsigned index) {
    nodes[index].value = 1;
    push<Publish>(top, nodes[index]);
    for (const node* each = top.load(acquire); each != nullptr; each = each->next) {
      assert(each->value == 1);
    }
  }
};

/// Each turn writes to a word, so others may see which turn it is.
template <std::memory_order Publish, unsigned Threads = 2>
struct pushes_words {
  static constexpr unsigned threads = Threads;
  struct linked {
    std::atomic<linked*> next{nullptr};
    int value = 0;
  };
  std::atomic<linked*> top{nullptr};
  std::array<linked, 2> nodes;
  void thread(unsigned index) {
    linked& pushed = nodes[index];
    pushed.value = 1;
    linked* expected = top.load(relaxed);
    do {
      pushed.next.store(expected, relaxed);
    } while (!top.compare_exchange_weak(expected, &pushed, Publish, relaxed));
    for (const linked* each = top.load(acquire); each != nullptr; each = each->next.load(relaxed)) {
      assert(each->value == 1);
    }
  }
};

/// The same where no other thread runs.
template <bool AtEnd>
struct pushes_alone {
  static constexpr unsigned threads = 2;
  std::atomic<node*> top{nullptr};
  node first;
  pushes_alone() {
    if (!AtEnd) push<release>(top, first);
  }
  void thread(unsigned /*index*/) { assert(AtEnd || top.load(relaxed) == &first); }
  void finish() {
    if (AtEnd) push<release>(top, first);
    assert(top.load(relaxed) == &first);
  }
};

template <bool AtEnd>
struct fails_alone {
  static constexpr unsigned threads = 1;
  std::atomic<int> word{0};
  bool has_failed = false;
  fails_alone() {
    if (!AtEnd) change();
  }
  void change() {
    int expected = 0;
    has_failed = !word.compare_exchange_weak(expected, 1, relaxed);
  }
  void thread(unsigned /*index*/) { assert(!has_failed); }
  void finish() {
    if (AtEnd) change();
    assert(!has_failed);
  }
};

/// The value stays the same, and the write is a race even so: the read comes after a failure.
struct rewrites_shared_data {
  static constexpr unsigned threads = 2;
  std::atomic<int> word{0};
  int data = 0;
  void thread(unsigned index) {
    if (index == 1) {
      assert(word.load(relaxed) == 0 || data == 0);
      return;
    }
    while (!changes()) rewrite();
  }
  [[gnu::noinline]] bool changes() {
    int expected = 0;
    return word.compare_exchange_weak(expected, 1, relaxed);
  }
  [[gnu::noinline]] void rewrite() { data = 0; }
};

/// A turn changes memory and nothing else, so the next one differs.
template <int Most>
struct counts_failures {
  static constexpr unsigned threads = 1;
  std::atomic<int> word{0};
  int failures = 0;
  [[gnu::noinline]] void count() {
    ++failures;
    assert(failures < Most);
  }
  void thread(unsigned /*index*/) {
    for (int expected = 0; !word.compare_exchange_weak(expected, 1, relaxed); count()) expected = 0;
  }
};

}  // namespace plain_failures
