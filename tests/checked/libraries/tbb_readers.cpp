// SPDX-License-Identifier: Apache-2.0
#include "tbb.hpp"

#include <cassert>

/// A writer and a reader.
struct client {
  static constexpr unsigned threads = 2;
  tbb::rw_mutex mutex;
  int first = 0;
  int second = 0;
  void thread(unsigned index) {
    if (index == 0) {
      mutex.lock();
      ++first;
      ++second;
      mutex.unlock();
    } else {
      mutex.lock_shared();
      assert(first == second);
      mutex.unlock_shared();
    }
  }
};
