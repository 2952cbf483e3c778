// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. main() waits for a word on its own stack, until three threads have
// written there what they have computed. The checker compares states of main()'s loop without what
// others write to, so three threads and a loop have few executions. With FAULT the threads count
// themselves before they write.
#include <atomic>
#include <cassert>
#include <thread>

int main() {
  std::atomic<int> ready{0};
  int results[3] = {0, 0, 0};
  const auto compute = [&](int which) {
#ifdef FAULT
    ready.fetch_add(1, std::memory_order_release);
#endif
    results[which] = which + 1;
#ifndef FAULT
    ready.fetch_add(1, std::memory_order_release);
#endif
  };
  std::thread first(compute, 0), second(compute, 1), third(compute, 2);
  while (ready.load(std::memory_order_acquire) != 3) {
  }
  assert(results[0] + results[1] + results[2] == 6);
  first.join();
  second.join();
  third.join();
}
