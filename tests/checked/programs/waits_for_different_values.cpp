// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Two threads wait for a word, with two values. notify_one() has to reach
// the one that has read a value older than the last store ([atomics.wait]), and only that one.
#include <atomic>
#include <thread>
static std::atomic<int> word;
int main() {
  std::thread first{[] { word.wait(0); }};
  std::thread second{[] {
    while (word.load() == 0) {
    }
    word.wait(1);
  }};
  word.store(1);
  word.notify_one();
  first.join();
  word.store(2);
#ifndef FAULT
  word.notify_one();
#endif
  second.join();
}
