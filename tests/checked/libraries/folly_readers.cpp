// SPDX-License-Identifier: Apache-2.0
#include "folly.hpp"

#include <folly/synchronization/RWSpinLock.h>

struct client {
  static constexpr unsigned threads = 2;
  folly::RWSpinLock lock;
  int value = 0;
  void thread(unsigned index) {
    if (index == 0) {
      lock.lock();
      value = 1;
      value = 2;
      lock.unlock();
    } else {
      lock.lock_shared();
      assert(value != 1);
      lock.unlock_shared();
    }
  }
};
