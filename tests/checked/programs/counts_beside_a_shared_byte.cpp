// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. main() counts the turns of its loop in a byte next to one that a
// thread writes: the loop ends when it has counted to three or has seen the thread, so it waits for
// nothing, and the count is a part of its state. With FAULT main() expects that it sees the thread
// in time if the thread has begun; but it may read old values.
#include <atomic>
#include <cassert>
#include <thread>

int main() {
  std::atomic<bool> has_begun{false};
  std::atomic<bool> has_ended{false};
  char written = 0;         // by the thread
  volatile char turns = 0;  // by main()
  std::thread writer([&written, &has_begun, &has_ended] {
    has_begun.store(true, std::memory_order_relaxed);
    written = 1;
    has_ended.store(true, std::memory_order_release);
  });
  bool has_seen = false;
  while (!(has_seen = has_ended.load(std::memory_order_acquire)) && turns < 3) turns = turns + 1;
#ifdef FAULT
  assert(has_seen || !has_begun.load(std::memory_order_relaxed));
#endif
  if (has_seen) assert(written == 1);
  writer.join();
}
