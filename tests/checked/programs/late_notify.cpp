// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. The waiter may delete the condition variable as soon as it sees the
// flag, so the notifier has to hold the mutex.
#include <condition_variable>
#include <mutex>
#include <thread>
struct event {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_set = false;
};
int main() {
  auto* const shared = new event;
  std::thread other{[shared] {
    std::unique_lock held{shared->mutex};
    shared->is_set = true;
#ifdef FAULT
    held.unlock();
#endif
    shared->changed.notify_one();
  }};
  {
    std::unique_lock held{shared->mutex};
    shared->changed.wait(held, [shared] { return shared->is_set; });
  }
#ifdef FAULT
  delete shared;
  other.join();
#else
  other.join();
  delete shared;
#endif
}
