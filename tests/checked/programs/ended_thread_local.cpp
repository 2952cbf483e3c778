// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A thread's variable is gone when the thread has ended.
#include <atomic>
#include <thread>
static thread_local std::atomic<int> mine;
static std::atomic<std::atomic<int>*> published{nullptr};
static std::atomic<bool> used{false};
int main() {
  std::thread owner{[] {
    published.store(&mine, std::memory_order_release);
#ifndef FAULT
    while (!used.load(std::memory_order_acquire)) {
    }
#endif
  }};
  if (auto* const theirs = published.load(std::memory_order_acquire)) theirs->store(1);
  used.store(true, std::memory_order_release);
  owner.join();
}
