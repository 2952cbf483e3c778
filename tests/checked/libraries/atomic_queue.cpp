// SPDX-License-Identifier: Apache-2.0
#include <atomic_queue/atomic_queue.h>

#include <cassert>

struct client {
  static constexpr unsigned threads = 2;
  atomic_queue::AtomicQueue2<int, 2> queue;
  void thread(unsigned index) {
    if (index == 0) {
      queue.push(7);
      queue.push(8);
    } else {
      int found = queue.pop();
      assert(found == 7);
      if (queue.try_pop(found)) assert(found == 8);
    }
  }
};
