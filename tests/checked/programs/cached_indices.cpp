// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A ring for one producer and one consumer, each of which keeps the other
// one's index as it has read it last. With FAULT the consumer gives the slot back before it has
// copied the value.
#include <atomic>
#include <cassert>
#include <thread>
constexpr unsigned slots = 2;
struct ring {
  alignas(64) std::atomic<unsigned> written{0};
  unsigned known_taken = 0;
  alignas(64) std::atomic<unsigned> taken{0};
  unsigned known_written = 0;
  int values[slots];

  bool push(int value) {
    const unsigned at = written.load(std::memory_order_relaxed);
    if (at - known_taken == slots) {
      known_taken = taken.load(std::memory_order_acquire);
      if (at - known_taken == slots) return false;
    }
    values[at % slots] = value;
    written.store(at + 1, std::memory_order_release);
    return true;
  }
  bool pop(int& value) {
    const unsigned at = taken.load(std::memory_order_relaxed);
    if (at == known_written) {
      known_written = written.load(std::memory_order_acquire);
      if (at == known_written) return false;
    }
#ifdef FAULT
    taken.store(at + 1, std::memory_order_release);
    value = values[at % slots];
#else
    value = values[at % slots];
    taken.store(at + 1, std::memory_order_release);
#endif
    return true;
  }
};
static ring all;
int main() {
  std::thread producer{[] {
    for (int i = 1; i <= 4; ++i) {
      while (!all.push(i)) {
      }
    }
  }};
  for (int i = 1; i <= 4; ++i) {
    int value = 0;
    while (!all.pop(value)) {
    }
    assert(value == i);
  }
  producer.join();
}
