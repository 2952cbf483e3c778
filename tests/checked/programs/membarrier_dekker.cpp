// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. One side announces itself, has a fence against signal handlers, and
// looks at the other one; the other side has membarrier() in that place. So one of the two sees the
// other one. With FAULT the process has not registered: membarrier() fails, and orders nothing.
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

std::atomic<bool> often{false};
std::atomic<bool> rarely{false};
int value = 0;

int main() {
#ifndef FAULT
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
#endif
  std::thread first([] {
    often.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!rarely.load(std::memory_order_acquire)) ++value;
    often.store(false, std::memory_order_release);
  });
  std::thread second([] {
    rarely.store(true, std::memory_order_relaxed);
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    while (often.load(std::memory_order_acquire)) {
    }
    ++value;
  });
  first.join();
  second.join();
}
