// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Two threads take memory from a resource that they may share, and
// whose state is in the C++ library: either may come first.
#include <atomic>
#include <cassert>
#include <memory_resource>
#include <thread>
static std::pmr::synchronized_pool_resource memory;
static std::atomic<int> steps[2];
static void* taken[2];
static void take(int which) {
  steps[which] = 1;
  taken[which] = memory.allocate(8, 8);
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
