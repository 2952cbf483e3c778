// SPDX-License-Identifier: Apache-2.0
#include <boost/lockfree/spsc_queue.hpp>

#include <cassert>

struct client {
  static constexpr unsigned threads = 2;
  boost::lockfree::spsc_queue<int, boost::lockfree::capacity<1>> queue;
  void thread(unsigned index) {
    int found = 0;
    if (index == 0) {
      queue.push(7);
      queue.push(8);
    } else {
      if (queue.pop(found)) assert(found == 7);
      if (queue.pop(found)) assert(found == 7 || found == 8);
    }
  }
};
