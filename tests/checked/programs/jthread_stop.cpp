// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The worker ends when its stop token says so, and the jthread's
// destructor asks for that and joins. Without the join by scope the read below runs next to the
// worker.
#include <atomic>
#include <cassert>
#include <thread>
int main() {
  int rounds = 0;
  std::atomic<bool> began{false};
  {
    std::jthread worker{[&](std::stop_token stop) {
      ++rounds;
      began.store(true, std::memory_order_relaxed);
      while (!stop.stop_requested()) std::this_thread::yield();
    }};
    while (!began.load(std::memory_order_relaxed)) std::this_thread::yield();
#ifdef FAULT
    assert(rounds == 1);
#endif
  }
  assert(rounds == 1);
}
