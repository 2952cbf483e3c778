// SPDX-License-Identifier: Apache-2.0
#include "one_slot.hpp"

#include <cassert>

struct client {
  static constexpr unsigned threads = 2;
  my::one_slot<int> slot{0};
  void thread(unsigned index) {
    int found = 0;
    if (index == 0) slot.put(42);
    if (index == 1 && slot.take(found)) assert(found == 42);
  }
};
