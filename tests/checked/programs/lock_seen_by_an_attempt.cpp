// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. std::lock() may hold the first mutex for a while although it has to
// wait for the second one.
#include <cassert>
#include <mutex>
#include <thread>

std::mutex first;
std::mutex second;
int shared;

int main() {
  std::thread both{[] {
    std::lock(first, second);
    ++shared;
    first.unlock();
    second.unlock();
  }};
  second.lock();
  const bool done = first.try_lock();
#ifdef FAULT
  assert(done || shared == 1);
#endif
  if (done) first.unlock();
  second.unlock();
  both.join();
  assert(shared == 1);
}
