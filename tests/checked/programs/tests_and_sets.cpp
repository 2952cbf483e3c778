// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Four threads take a spinlock that looks at its word before it tries to
// set it. An attempt that fails changes nothing and leads back to the look, so it has no execution
// of its own. With FAULT the last thread does not give the lock back if another one has been there.
#include <atomic>
#include <cassert>
#include <thread>

class spinlock {
 public:
  void lock() {
    do {
      while (held_.load(std::memory_order_relaxed)) {
      }
    } while (held_.exchange(true, std::memory_order_acquire));
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

spinlock lock;
int count = 0;

int main() {
  const auto add = [](bool gives_back) {
    lock.lock();
    const int before = count++;
    if (gives_back || before != 1) lock.unlock();
  };
#ifdef FAULT
  constexpr bool all_give_back = false;
#else
  constexpr bool all_give_back = true;
#endif
  std::thread first(add, true), second(add, true), third(add, true), last(add, all_give_back);
  first.join();
  second.join();
  third.join();
  last.join();
  assert(count == 4);
}
