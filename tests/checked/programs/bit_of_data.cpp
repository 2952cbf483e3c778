// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The lock is one bit of a word whose other bits are data, as in folly's
// PicoSpinLock; fetch_and gives it back.
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<unsigned> word{6};
static int guarded;
constexpr unsigned taken = 1;
static void run() {
  while ((word.fetch_or(taken, std::memory_order_acquire) & taken) != 0) {
    do std::this_thread::yield();
    while ((word.load(std::memory_order_relaxed) & taken) != 0);
  }
  ++guarded;
#ifdef FAULT
  word.fetch_and(~taken, std::memory_order_relaxed);
#else
  word.fetch_and(~taken, std::memory_order_release);
#endif
}
int main() {
  std::thread other{run};
  run();
  other.join();
  assert(guarded == 2 && word == 6);
}
