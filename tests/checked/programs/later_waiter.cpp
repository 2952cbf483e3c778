// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A thread that is notified notifies the next one. notify_one() may reach
// any of the threads that wait, so each of them has to.
#include <atomic>
#include <thread>
static std::atomic<int> word;
int main() {
  std::thread first{[] {
    word.wait(0);
    word.notify_one();
  }};
  std::thread last{[] {
    word.wait(0);
#ifndef FAULT
    word.notify_one();
#endif
  }};
  word.store(1);
  word.notify_one();
  first.join();
  last.join();
}
