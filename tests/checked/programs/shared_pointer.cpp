// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. std::atomic<std::shared_ptr> may be stored and loaded at the same time;
// a plain shared_ptr may not.
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>
#ifdef FAULT
static std::shared_ptr<int> shared;
#else
static std::atomic<std::shared_ptr<int> > shared;
#endif
int main() {
  shared = std::make_shared<int>(1);
  std::thread writer{[] { shared = std::make_shared<int>(2); }};
  const std::shared_ptr<int> found = shared;
  assert(*found == 1 || *found == 2);
  writer.join();
}
