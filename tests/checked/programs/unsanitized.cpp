// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. Attributes against the sanitizer do not hide a function's accesses.
#include <mutex>
#include <thread>
static std::mutex mutex;
static int count;
__attribute__((no_sanitize_thread, noinline)) static void increase() {
  ++count;
}
[[gnu::no_sanitize("thread")]] static void run() {
#ifndef FAULT
  const std::scoped_lock held{mutex};
#endif
  increase();
}
int main() {
  std::thread other{run};
  run();
  other.join();
}
