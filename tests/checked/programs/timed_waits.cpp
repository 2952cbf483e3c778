// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. try_lock_for and wait_for may time out at any moment, so a thread
// must not rely on their success.
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
using namespace std::chrono_literals;
int main() {
  std::timed_mutex mutex;
  std::mutex guard;
  std::condition_variable changed;
  bool ready = false;
  std::thread other{[&] {
    if (std::unique_lock held{mutex, 1s}) std::this_thread::sleep_for(1ms);
    std::lock_guard held{guard};
    ready = true;
    changed.notify_one();
  }};
  std::unique_lock held{guard};
  [[maybe_unused]] const bool seen = changed.wait_for(held, 1h, [&] { return ready; });
#ifdef FAULT
  assert(seen);
#endif
  held.unlock();
  other.join();
  assert(ready);
}
