// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Two threads wait, and another one notifies both, one after the other, of
// a store that it has not made. Where the store does not happen before, no notification has to
// reach them.
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
  std::thread first{[] { word.wait(0); }};
  std::thread second{[] { word.wait(0); }};
  std::thread writer{[] {
    word.store(1, order);
    is_stored.store(1, order);
  }};
  while (is_stored.load(order) == 0) {
  }
  word.notify_one();
  word.notify_one();
  first.join();
  second.join();
  writer.join();
}
