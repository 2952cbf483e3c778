// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A detached thread that says that it is done may be waited for by that
// word; its accesses after the word race.
#include <atomic>
#include <thread>
static int data;
static std::atomic<bool> done{false};
int main() {
  std::thread{[] {
#ifndef FAULT
    data = 1;
#endif
    done.store(true, std::memory_order_release);
#ifdef FAULT
    data = 1;
#endif
  }}.detach();
  while (!done.load(std::memory_order_acquire)) std::this_thread::yield();
  data = 2;
}
