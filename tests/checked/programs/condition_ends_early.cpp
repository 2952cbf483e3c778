// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A condition variable may end once all its waiters were woken, even
// if none of them has gone on ([thread.condition.condvar]); but no thread may begin to wait again.
#include <condition_variable>
#include <mutex>
#include <thread>
static std::mutex guard;
static bool is_ready;
int main() {
  auto* const changed = new std::condition_variable;
  std::thread waiter{[changed] {
    std::unique_lock held{guard};
#ifdef FAULT
    while (!is_ready) changed->wait(held);
#else
    if (!is_ready) changed->wait(held);
#endif
  }};
  {
    const std::lock_guard held{guard};
#ifndef FAULT
    is_ready = true;
#endif
    changed->notify_all();
  }
  delete changed;
  {
    const std::lock_guard held{guard};
    is_ready = true;
  }
  waiter.join();
}
