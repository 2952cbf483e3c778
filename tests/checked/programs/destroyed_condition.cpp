// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A condition variable may end as soon as all its waiters have been
// notified, though they have not left it yet; but not while the other thread has yet to notify.
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
static std::mutex mutex;
alignas(std::condition_variable) static unsigned char place[sizeof(std::condition_variable)];
static auto* const condition = ::new (place) std::condition_variable;
static bool is_set;
static void set() {
  std::unique_lock held{mutex};
  is_set = true;
#ifdef FAULT
  held.unlock();
  condition->notify_all();
#else
  condition->notify_all();
  condition->~condition_variable();
#endif
}
int main() {
  std::thread other{set};
  {
    std::unique_lock held{mutex};
    while (!is_set) condition->wait(held);
  }
#ifdef FAULT
  condition->~condition_variable();
#endif
  other.join();
}
