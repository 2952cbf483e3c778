// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. std::scoped_lock releases what it has and tries again, any number of
// times; the order of two separate locks is a deadlock.
#include <mutex>
#include <thread>
static std::mutex one, other;
static int count;
static void run(std::mutex& first, std::mutex& second) {
#ifdef FAULT
  const std::scoped_lock held{first};
  const std::scoped_lock too{second};
#else
  const std::scoped_lock held{first, second};
#endif
  ++count;
}
int main() {
  std::thread thread{[] { run(one, other); }};
  run(other, one);
  thread.join();
}
