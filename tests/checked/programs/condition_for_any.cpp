// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. condition_variable_any with a shared_mutex; the notification must follow
// the change, or the waiter may look before it and sleep after.
#include <condition_variable>
#include <shared_mutex>
#include <thread>
int main() {
  std::shared_mutex mutex;
  std::condition_variable_any changed;
  bool ready = false;
  std::thread setter{[&] {
#ifdef FAULT
    changed.notify_all();
#endif
    {
      std::unique_lock held{mutex};
      ready = true;
    }
#ifndef FAULT
    changed.notify_all();
#endif
  }};
  {
    std::shared_lock held{mutex};
    changed.wait(held, [&] { return ready; });
  }
  setter.join();
}
