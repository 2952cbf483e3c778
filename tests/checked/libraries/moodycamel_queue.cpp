// SPDX-License-Identifier: Apache-2.0
#include <concurrentqueue/concurrentqueue.h>

#include <cassert>

struct client {
  static constexpr unsigned threads = 3;
  moodycamel::ConcurrentQueue<int> queue;
  void thread(unsigned index) {
    int found = 0;
    if (index == 0) {
      queue.enqueue(7);
      queue.enqueue(8);
    } else {
      if (queue.try_dequeue(found)) assert(found == 7 || found == 8);
    }
  }
};
