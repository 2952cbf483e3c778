// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A turn of the spin that does not end it writes a local variable, which
// the other thread reads after it has ended the spin.
#include <atomic>
#include <thread>
static std::atomic<int*> known{nullptr};
static std::atomic<int> flag{0}, other{0};
static int seen;
static void spinner() {
  int local = 0;
  known.store(&local);
  while (flag.load(std::memory_order_relaxed) == 0) {
#ifdef FAULT
    local = 0;
#endif
  }
  while (other.load() == 0) {
  }
}
static void reader() {
  const int* from = nullptr;
  while ((from = known.load()) == nullptr) {
  }
  flag.store(1, std::memory_order_relaxed);
  other.load();
  seen = *from;
  other.store(1);
}
int main() {
  std::thread a{spinner}, b{reader};
  a.join();
  b.join();
}
