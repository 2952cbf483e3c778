// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. main() counts the turns of its loop in a byte next to one that a
// thread writes: the loop ends when it has counted to three or has seen the thread, so it waits for
// nothing, and the count is a part of its state. With FAULT main() expects that it always sees the
// thread first.
#include <atomic>
#include <cassert>
#include <thread>

struct both {
  char written = 0;  // by the thread
  char turns = 0;    // by main()
};

int main() {
  std::atomic<bool> has_ended{false};
  both bytes;
  std::thread writer([&] {
    bytes.written = 1;
    has_ended.store(true, std::memory_order_release);
  });
  bool has_seen = false;
  while (!(has_seen = has_ended.load(std::memory_order_acquire)) && bytes.turns < 3) ++bytes.turns;
#ifdef FAULT
  assert(has_seen);
#endif
  if (has_seen) assert(bytes.written == 1);
  writer.join();
}
