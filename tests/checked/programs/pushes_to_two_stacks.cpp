// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. Two threads push nodes of main()'s stack onto two lists. A weak
// compare-exchange that fails for no reason leads back to it: the turn writes to a node what it has
// written there before, and a race with that is one with the first write as well. With FAULT the
// nodes are published by relaxed operations.
#include <atomic>
#include <cassert>
#include <thread>

#ifdef FAULT
constexpr auto published = std::memory_order_relaxed;
#else
constexpr auto published = std::memory_order_release;
#endif

struct node {
  node* next = nullptr;
};
using list = std::atomic<node*>;

void push(list& to, node& which) {
  node* head = to.load(std::memory_order_relaxed);
  do {
    which.next = head;
  } while (!to.compare_exchange_weak(head, &which, published, std::memory_order_relaxed));
}

int length(list& of) {
  int found = 0;
  for (const node* each = of.exchange(nullptr, std::memory_order_acquire); each != nullptr;
       each = each->next) {
    ++found;
  }
  return found;
}

int main() {
  list one{nullptr};
  list other{nullptr};
  node nodes[4];
  std::thread first([&] {
    push(one, nodes[0]);
    push(other, nodes[1]);
  });
  std::thread second([&] {
    push(one, nodes[2]);
    push(other, nodes[3]);
  });
  const int early = length(one) + length(other);
  first.join();
  second.join();
  assert(early + length(one) + length(other) == 4);
}
