// SPDX-License-Identifier: Apache-2.0
#include <readerwriterqueue/readerwriterqueue.h>

#include <cassert>

/// Blocks have room for one element each, so the threads take new ones and reuse old ones.
struct client {
  static constexpr unsigned threads = 2;
  moodycamel::ReaderWriterQueue<int> queue{1};
  void thread(unsigned index) {
    if (index == 0) {
      for (int each = 0; each < 3; ++each) queue.enqueue(each);
      return;
    }
    int found = 0;
    for (int next = 0; next < 2; ++next) {
      if (!queue.try_dequeue(found)) return;
      assert(found == next);
    }
  }
};
