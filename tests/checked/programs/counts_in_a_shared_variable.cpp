// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A thread sets a variable of main() before main() notes there how
// far its loop has come. The checker compares states of main()'s stack without what others write
// to, but it counts what main() writes there, so the loop waits for nothing. With FAULT main()
// expects that it sees the second thread in time if that has begun; but it may read old values.
#include <atomic>
#include <cassert>
#include <thread>

enum class stage { unknown, first, second, last };

int main() {
  std::atomic<bool> has_begun{false};
  std::atomic<bool> has_ended{false};
  volatile stage now = stage::unknown;
  std::thread([&now] { now = stage::first; }).join();
  std::thread writer([&has_begun, &has_ended] {
    has_begun.store(true, std::memory_order_relaxed);
    has_ended.store(true, std::memory_order_relaxed);
  });
  bool has_seen = false;
  while (!(has_seen = has_ended.load(std::memory_order_relaxed))) {
    if (now == stage::first) {
      now = stage::second;
    } else if (now == stage::second) {
      now = stage::last;
    } else {
      break;
    }
  }
#ifdef FAULT
  assert(has_seen || !has_begun.load(std::memory_order_relaxed));
#endif
  writer.join();
}
