// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. The thread that takes the node frees it; with a load and a store,
// both threads take it.
#include <atomic>
#include <thread>
static std::atomic<int*> shared{nullptr};
static void free_it() {
#ifdef FAULT
  int* const mine = shared.load();
  shared.store(nullptr);
#else
  int* const mine = shared.exchange(nullptr);
#endif
  delete mine;
}
int main() {
  shared = new int{1};
  std::thread other{free_it};
  free_it();
  other.join();
}
