// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Two threads that both store and load, with membarrier() on both
// sides. With FAULT both have a fence against signal handlers, which orders nothing between threads
// unless one of them executes membarrier().
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <thread>

std::atomic<int> x{0};
std::atomic<int> y{0};
int seen[2];

void fence() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
#ifndef FAULT
  syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
#endif
}

int main() {
  std::thread first([] {
    x.store(1, std::memory_order_relaxed);
    fence();
    seen[0] = y.load(std::memory_order_relaxed);
  });
  std::thread second([] {
    y.store(1, std::memory_order_relaxed);
    fence();
    seen[1] = x.load(std::memory_order_relaxed);
  });
  first.join();
  second.join();
  assert(seen[0] == 1 || seen[1] == 1);
}
