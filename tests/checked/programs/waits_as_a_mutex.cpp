// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A mutex with three states: free, taken, taken while others may wait. The
// next owner does not know of others that wait, so it has to assume that there are some.
#include <atomic>
#include <thread>
static std::atomic<int> state;
static int data;
static void run() {
#ifdef FAULT
  constexpr int again = 1;
#else
  constexpr int again = 2;
#endif
  int found = 0;
  if (!state.compare_exchange_strong(found, 1)) {
    while (state.exchange(again) != 0) state.wait(again);
  }
  ++data;
  if (state.exchange(0) == 2) state.notify_one();
}
int main() {
  std::thread one{run};
  std::thread two{run};
  run();
  one.join();
  two.join();
}
