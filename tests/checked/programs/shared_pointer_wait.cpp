// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A thread waits until a std::atomic<std::shared_ptr> has another value,
// which needs a notification.
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>
static std::atomic<std::shared_ptr<int> > shared;
int main() {
  std::thread waiter{[] {
    shared.wait(nullptr);
    assert(*shared.load() == 3);
  }};
  shared = std::make_shared<int>(3);
#ifndef FAULT
  shared.notify_one();
#endif
  waiter.join();
}
