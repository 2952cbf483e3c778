// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A loop counts its turns up to a limit, and yields from there on.
#include <sched.h>
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> begun, ready, place;
static int value;
static void wait_for_value() {
  for (unsigned turns = 0; ready.load(std::memory_order_acquire) == 0;) {
    if (begun.load(std::memory_order_relaxed) == 0) return;
    if (turns < 8) {
      ++turns;
    } else {
      sched_yield();
    }
    if (place.load(std::memory_order_relaxed) != 0) return;
  }
  assert(value == 42);
}
int main() {
  std::thread waiter{wait_for_value};
  begun.store(1, std::memory_order_relaxed);
  value = 42;
#ifdef FAULT
  ready.store(1, std::memory_order_relaxed);
#else
  ready.store(1, std::memory_order_release);
#endif
  waiter.join();
}
