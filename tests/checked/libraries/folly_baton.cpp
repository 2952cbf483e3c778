// SPDX-License-Identifier: Apache-2.0
#include "folly.hpp"

#include <folly/synchronization/Baton.h>

namespace folly {
void async_tracing::logBlockingOperation(std::chrono::milliseconds /*length*/) noexcept {}
std::uint64_t getCurrentThreadID() {
  return 0;
}
namespace detail {
/// No memory is given back while a thread sleeps.
AtomicStruct<std::chrono::steady_clock::duration> MemoryIdler::defaultIdleTimeout{
    std::chrono::steady_clock::duration{-1}};
void MemoryIdler::flushLocalMallocCaches() {}
void MemoryIdler::unmapUnusedStack(std::size_t /*kept*/) {}
}  // namespace detail
}  // namespace folly

struct client {
  static constexpr unsigned threads = 2;
  folly::Baton<> baton;
  int value = 0;
  void thread(unsigned index) {
    if (index == 0) {
      value = 1;
      baton.post();
    } else {
      baton.wait();
      assert(value == 1);
    }
  }
};
