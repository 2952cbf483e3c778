// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. The end of main() ends a detached thread that waits; a joined one has to
// end by itself. The condition variable must not end before: a static one would be destroyed.
#include <condition_variable>
#include <mutex>
#include <thread>
static std::mutex mutex;
static auto& changed = *new std::condition_variable;
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
