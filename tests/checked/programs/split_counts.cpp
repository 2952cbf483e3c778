// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A stack with split reference counts (A. Williams, C++ Concurrency in
// Action, 7.2.4): the head is an atomic object of 16 bytes, but a value of its type is aligned to
// eight bytes, also the one in a node, which a compare-exchange expects. With FAULT a thread does
// not count itself before it looks at the node.
#include <atomic>
#include <thread>

struct node;
struct counted {
  int external;
  node* at;
};
struct node {
  int value;
  std::atomic<int> internal{0};
  counted next{0, nullptr};
};
static_assert(alignof(counted) == 8 && __builtin_offsetof(node, next) == 8);

static std::atomic<counted> head{counted{0, nullptr}};

static void push(int value) {
  node* const made = new node{value};
  const counted next{1, made};
  made->next = head.load(std::memory_order_relaxed);
  while (!head.compare_exchange_strong(made->next, next, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
}

static int pop() {
  counted old = head.load(std::memory_order_relaxed);
  for (;;) {
#ifdef FAULT
    old = head.load(std::memory_order_acquire);
    if (old.at == nullptr) return 0;
#else
    counted more;
    do {
      more = old;
      ++more.external;
    } while (!head.compare_exchange_strong(old, more, std::memory_order_acquire,
                                           std::memory_order_relaxed));
    old = more;
    if (old.at == nullptr) return 0;
#endif
    node* const at = old.at;
    if (head.compare_exchange_strong(old, at->next, std::memory_order_relaxed)) {
      const int value = at->value;
#ifdef FAULT
      delete at;
#else
      const int others = old.external - 2;
      if (at->internal.fetch_add(others, std::memory_order_release) == -others) {
        at->internal.load(std::memory_order_acquire);
        delete at;
      }
#endif
      return value;
    }
#ifndef FAULT
    if (at->internal.fetch_sub(1, std::memory_order_acq_rel) == 1) delete at;
#endif
  }
}

int main() {
  push(1);
  std::thread one{[] { pop(); }};
  std::thread two{[] { pop(); }};
  one.join();
  two.join();
}
