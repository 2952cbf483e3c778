// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Two spinlocks that count failed attempts in plain memory of the thread.
// With FAULT the second one is never released.
#include <atomic>
#include <thread>
static std::atomic<unsigned> first{0}, second{0};
static int data, others, attempts[2];
static void contend(int self) {
  unsigned expected = 0;
  while (!first.compare_exchange_strong(expected, 1, std::memory_order_acquire)) {
    expected = 0;
    ++attempts[self];
  }
  ++data;
  first.store(0, std::memory_order_release);
  while (second.exchange(1, std::memory_order_acquire) != 0) ++attempts[self];
  ++others;
#ifndef FAULT
  second.store(0, std::memory_order_release);
#endif
}
int main() {
  std::thread a{contend, 0}, b{contend, 1};
  a.join();
  b.join();
  return data + others;
}
