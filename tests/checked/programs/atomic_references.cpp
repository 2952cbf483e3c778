// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. While atomic_ref objects refer to an element, every access must be by
// them.
#include <atomic>
#include <cassert>
#include <thread>
#include <vector>
int main() {
  std::vector<long> counts(2);
  std::thread other{[&] { std::atomic_ref{counts[1]}.fetch_add(1, std::memory_order_relaxed); }};
#ifdef FAULT
  ++counts[1];
#else
  std::atomic_ref{counts[1]}.fetch_add(1, std::memory_order_relaxed);
#endif
  ++counts[0];
  other.join();
  assert(counts[0] == 1 && counts[1] == 2);
}
