// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. pthread_exit() destroys the automatic objects of all frames; a
// handler of all exceptions has to throw it again.
#include <pthread.h>
#include <cassert>
#include <mutex>
#include <thread>
static std::mutex mutex;
static int ended;
struct counted {
  ~counted() { ++ended; }
};
static void leave() {
  const counted here;
  try {
    pthread_exit(nullptr);
  } catch (...) {
    ++ended;
#ifndef FAULT
    throw;
#endif
  }
}
int main() {
  std::thread other{[] {
    const std::scoped_lock held{mutex};
    const counted here;
    leave();
    ended = -1;
  }};
  { const std::scoped_lock held{mutex}; }
  other.join();
  assert(ended == 3);
}
