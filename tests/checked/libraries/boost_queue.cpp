// SPDX-License-Identifier: Apache-2.0
#include <boost/lockfree/queue.hpp>

#include <cassert>

struct client {
  static constexpr unsigned threads = 2;
  boost::lockfree::queue<int, boost::lockfree::capacity<2>> queue;
  void thread(unsigned index) {
    int found = 0;
    if (index == 0) {
      queue.push(7);
    } else {
      if (queue.pop(found)) assert(found == 7);
    }
  }
};
