// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. main() looks at its own variable under a mutex until another thread has
// changed it, which does so without the mutex in the FAULT form, and only after it has used it.
#include <mutex>
#include <thread>
int main() {
  std::mutex mutex;
  bool is_done = false;
  std::thread worker{[&] {
    const std::scoped_lock held{mutex};
#ifdef FAULT
    mutex.unlock();
    is_done = true;
    mutex.lock();
#else
    is_done = true;
#endif
  }};
  for (;;) {
    const std::scoped_lock held{mutex};
    if (is_done) break;
  }
  worker.join();
}
