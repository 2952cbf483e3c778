// SPDX-License-Identifier: Apache-2.0
#include <boost/lockfree/stack.hpp>

#include <cassert>

struct client {
  static constexpr unsigned threads = 2;
  boost::lockfree::stack<int, boost::lockfree::capacity<2>> stack;
  void thread(unsigned index) {
    int found = 0;
    if (index == 0) {
      stack.push(7);
    } else {
      if (stack.pop(found)) assert(found == 7);
    }
  }
};
