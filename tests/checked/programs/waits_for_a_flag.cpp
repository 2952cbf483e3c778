// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Two threads wait for a word. A notification of one thread may leave the
// other asleep, whichever it is.
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> flag;
static int data;
static void run() {
  flag.wait(0, std::memory_order_acquire);
  assert(data == 1);
}
int main() {
  std::thread one{run};
  std::thread two{run};
  data = 1;
  flag.store(1, std::memory_order_release);
#ifdef FAULT
  flag.notify_one();
#else
  flag.notify_all();
#endif
  one.join();
  two.join();
}
