// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A loop gives way in two places, for a word each.
#include <atomic>
#include <thread>
static std::atomic<int> one{0};
static std::atomic<int> other{0};
int main() {
  std::thread writer{[] {
#ifndef FAULT
    one.store(1, std::memory_order_release);
    other.store(1, std::memory_order_release);
#endif
  }};
  for (;;) {
    if (one.load(std::memory_order_acquire) != 0) break;
    std::this_thread::yield();
    if (other.load(std::memory_order_acquire) != 0) break;
    std::this_thread::yield();
  }
  writer.join();
}
