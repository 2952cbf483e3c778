// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Time is the same for all threads ([time.clock.steady]): a thread
// that receives a message, by a relaxed access too, reads no earlier time from its clock than the
// sender has read before it sent the message. With FAULT the sender reads its clock afterwards.
#include <atomic>
#include <cassert>
#include <chrono>
#include <thread>
using clock_type = std::chrono::steady_clock;
static std::atomic<int> message;
int main() {
  const auto begun = clock_type::now();
  clock_type::time_point received = clock_type::time_point::max();
  std::thread receiver{[&] {
    if (message.load(std::memory_order_relaxed) == 1) received = clock_type::now();
    assert(clock_type::now() >= begun);
  }};
#ifdef FAULT
  message.store(1, std::memory_order_relaxed);
  const auto sent = clock_type::now();
#else
  const auto sent = clock_type::now();
  message.store(1, std::memory_order_relaxed);
#endif
  receiver.join();
  assert(received >= sent);
}
