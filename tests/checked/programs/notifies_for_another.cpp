// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A thread notifies of a store that another thread has made. Where the
// store does not happen before the notification, that one need not reach the waiter
// ([atomics.wait]), which may then sleep forever.
#include <atomic>
#include <thread>
#ifdef FAULT
constexpr auto order = std::memory_order_relaxed;
#else
constexpr auto order = std::memory_order_seq_cst;
#endif
static std::atomic<int> word;
static std::atomic<int> is_stored;
int main() {
  std::thread waiter{[] { word.wait(0); }};
  std::thread writer{[] {
    word.store(1, order);
    is_stored.store(1, order);
  }};
  while (is_stored.load(order) == 0) {
  }
  word.notify_all();
  waiter.join();
  writer.join();
}
