// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A pointer that may not be there yet is followed.
#include <atomic>
#include <thread>
struct node {
  int value;
};
static std::atomic<node*> shared;
int main() {
  std::thread maker{[] { shared.store(new node{7}, std::memory_order_release); }};
  node* const found = shared.load(std::memory_order_acquire);
#ifndef FAULT
  if (found != nullptr)
#endif
    if (found->value != 7) return 1;
  maker.join();
}
