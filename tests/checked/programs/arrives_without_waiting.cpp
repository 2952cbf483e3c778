// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. As three_at_a_barrier.cpp, with atomic parts: a thread that only
// arrives races with no other one, but it may find parts that are not written yet.
#include <atomic>
#include <barrier>
#include <cassert>
#include <thread>
static std::barrier<> barrier{2};
static std::atomic<int> parts[2];
static void run(int index) {
  parts[index].store(index + 1, std::memory_order_relaxed);
#ifdef FAULT
  static_cast<void>(barrier.arrive());
#else
  barrier.arrive_and_wait();
#endif
  if (index == 0) assert(parts[1].load(std::memory_order_relaxed) == 2);
}
int main() {
  std::thread one{run, 1};
  run(0);
  one.join();
}
