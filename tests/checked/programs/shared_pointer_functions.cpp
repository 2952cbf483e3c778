// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. std::atomic_load() of a shared_ptr, as in programs before C++20.
#include <memory>
#include <thread>
static std::shared_ptr<int> value = std::make_shared<int>(1);
int main() {
  std::thread other{[] { std::atomic_store(&value, std::make_shared<int>(2)); }};
#ifdef FAULT
  const std::shared_ptr<int> found = value;
#else
  const std::shared_ptr<int> found = std::atomic_load(&value);
#endif
  other.join();
  return *found == 0;
}
