// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. fetch_add of a floating-point number is one read-modify-write
// (C++20); a load and a store are two.
#include <atomic>
#include <cassert>
#include <thread>
int main() {
  std::atomic<double> sum{0.5};
  const auto add = [&] {
#ifdef FAULT
    sum.store(sum.load() + 1.5);
#else
    sum.fetch_add(1.5);
#endif
  };
  std::thread a{add}, b{add};
  a.join();
  b.join();
  assert(sum == 3.5);
}
