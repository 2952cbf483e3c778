// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A thread publishes the address of a local variable. In the faulty
// form the function may return before the other thread reads the variable, and a later call may lie
// where the variable was, which makes it no less dead.
#include <atomic>
#include <thread>
namespace {
std::atomic<int*> published{nullptr};
std::atomic<int> between{0}, done{0};
int seen = 0;
[[gnu::noinline]] void publish() {
  int local = 1;
  published.store(&local, std::memory_order_release);
  between.store(1, std::memory_order_relaxed);
#ifndef FAULT
  while (done.load() == 0) {
  }
#endif
}
[[gnu::noinline]] void call_later() {
  volatile int large[64];
  large[0] = 1;
  while (done.load() == 0) {
  }
  large[1] = large[0];
}
}  // namespace
int main() {
  std::thread owner{[] {
    publish();
    call_later();
  }};
  std::thread reader{[] {
    if (const int* const from = published.load(std::memory_order_acquire)) seen = *from;
    done.store(1);
  }};
  owner.join();
  reader.join();
}
