// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. The end of main() ends a detached thread that waits; a joined one has to
// end by itself.
#include <condition_variable>
#include <mutex>
#include <thread>
static std::mutex mutex;
static std::condition_variable changed;
int main() {
  std::thread waiter{[] {
    std::unique_lock held{mutex};
    changed.wait(held, [] { return false; });
  }};
#ifdef FAULT
  waiter.join();
#else
  waiter.detach();
#endif
}
