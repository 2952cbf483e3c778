// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A thread writes data, and again in each turn of its loop, before it
// publishes the data by a weak compare-exchange. With FAULT it releases only what it has written in
// the first turn, by a fence: if the compare-exchange fails for no reason, the second write comes
// behind the fence, and the other thread's write happens after the first one only.
#include <atomic>
#include <thread>

#ifdef FAULT
constexpr bool has_fence = true;
constexpr auto published = std::memory_order_relaxed;
#else
constexpr bool has_fence = false;
constexpr auto published = std::memory_order_release;
#endif

std::atomic<int> word{0};
int data = 0;

int main() {
  std::thread first([] {
    int expected = word.load(std::memory_order_relaxed);
    bool has_fenced = false;
    do {
      data = 1;
      if (has_fence && !has_fenced) std::atomic_thread_fence(std::memory_order_release);
      has_fenced = true;
    } while (!word.compare_exchange_weak(expected, 1, published, std::memory_order_relaxed));
  });
  std::thread second([] {
    if (word.load(std::memory_order_relaxed) != 1) return;
    std::atomic_thread_fence(std::memory_order_acquire);
    data = 2;
  });
  first.join();
  second.join();
}
