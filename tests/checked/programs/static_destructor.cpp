// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The destructor of a static object runs after main() (C++20
// [basic.start.term]), while detached threads go on: it comes after what main() has waited for.
#include <atomic>
#include <cassert>
#include <iostream>
#include <thread>
static int uses;
static std::atomic<bool> done{false};
struct counter {
  int* last = new int{0};
  ~counter() {
    assert(*last == 0);
    *last = ++uses;
    delete last;
    std::cout << "uses: " << uses << std::endl;
  }
};
static counter all;
int main() {
  assert(uses == 0);  // no execution sees the end of an earlier one
  assert(*all.last == 0);
  std::thread{[] {
    ++uses;
    done.store(true, std::memory_order_release);
  }}.detach();
#ifndef FAULT
  while (!done.load(std::memory_order_acquire)) std::this_thread::yield();
#endif
}
