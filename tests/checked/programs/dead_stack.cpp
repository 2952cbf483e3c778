// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A detached thread uses a variable of a function that has returned.
#include <atomic>
#include <memory>
#include <thread>
static std::atomic<bool> done{false};
[[gnu::noinline]] static void start() {
#ifdef FAULT
  std::atomic<int> count{0};
  std::thread{[at = &count] {
    at->fetch_add(1);
    done = true;
  }}.detach();
#else
  const auto count = std::make_shared<std::atomic<int> >(0);
  std::thread{[at = count] {
    at->fetch_add(1);
    done = true;
  }}.detach();
#endif
}
int main() {
  start();
  while (!done) {
  }
}
