// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A turn of the spin writes a local variable whose address the other
// thread has, so the turn may not be left out.
#include <atomic>
#include <thread>
int main() {
  std::atomic<int> flag{0}, other{0};
  int local = 0, seen = 0;
  std::thread reader{[&] {
    flag.store(1, std::memory_order_relaxed);
    other.load();
    seen = local;
  }};
  while (flag.load(std::memory_order_relaxed) == 0) {
#ifdef FAULT
    local = 0;
#endif
  }
  reader.join();
  return seen;
}
