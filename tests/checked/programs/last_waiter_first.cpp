// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Three threads begin to wait one after the other, and each notifies the
// next one. notify_one() may reach the last one first, which then has to notify, too.
#include <condition_variable>
#include <mutex>
#include <thread>
static std::mutex mutex;
static std::condition_variable changed;
static int waiting, woken;
static bool goes_on;
static void run(int index) {
  {
    std::unique_lock held{mutex};
    if (waiting != index) return;
    ++waiting;
    changed.wait(held, [] { return goes_on; });
#ifdef FAULT
    if (woken++ == 0 && index == 2) return;
#endif
  }
  changed.notify_one();
}
int main() {
  std::thread first{run, 0};
  std::thread second{run, 1};
  std::thread third{run, 2};
  {
    const std::scoped_lock held{mutex};
    goes_on = true;
  }
  changed.notify_one();
  first.join();
  second.join();
  third.join();
}
