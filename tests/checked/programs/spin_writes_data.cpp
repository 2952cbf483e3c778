// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A turn of the spin that does not end it writes what lies there anyway;
// the turn that ends it writes nothing. With FAULT the other thread reads that after it has ended
// the spin, and no order keeps the read from the write.
#include <atomic>
#include <thread>
static std::atomic<int> flag{0}, other{0};
static int data, seen;
int main() {
  std::thread reader{[] {
    flag.store(1, std::memory_order_relaxed);
#ifndef FAULT
    while (other.load(std::memory_order_acquire) == 0) {
    }
#endif
    other.load();
    seen = data;
  }};
  while (flag.load(std::memory_order_relaxed) == 0) data = 0;
  other.store(1, std::memory_order_release);
  reader.join();
}
