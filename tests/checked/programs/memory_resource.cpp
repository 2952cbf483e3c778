// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Two threads take memory from a resource whose state is in the C++
// library, one at a time: either may come first.
#include <atomic>
#include <cassert>
#include <memory_resource>
#include <mutex>
#include <thread>
static std::mutex one_at_a_time;
static std::pmr::unsynchronized_pool_resource memory;
static std::atomic<int> steps[2];
static void* taken[2];
static void take(int which) {
  steps[which] = 1;
  {
    const std::scoped_lock held{one_at_a_time};
    taken[which] = memory.allocate(8, 8);
  }
  steps[which] = 2;
}
int main() {
  std::thread first{take, 0};
  std::thread second{take, 1};
  first.join();
  second.join();
#ifdef FAULT
  assert(taken[0] < taken[1]);
#endif
  assert(taken[0] != taken[1]);
}
