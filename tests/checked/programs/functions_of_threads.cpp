// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. std::function, captured shared_ptr, recursion; the last use of the
// object happens before its end, because the counts of shared_ptr order them. The value is the
// threads' own unless both write the same one.
#include <functional>
#include <memory>
#include <thread>
static int depth(int n) {
  return n == 0 ? 0 : 1 + depth(n - 1);
}
int main() {
  auto values = std::make_shared<int[]>(2);
  const auto make = [&](int index) -> std::function<void()> {
    return [values, index] { values[index] = depth(3); };
  };
#ifdef FAULT
  std::thread a{make(0)}, b{make(0)};
#else
  std::thread a{make(0)}, b{make(1)};
#endif
  values.reset();
  a.join();
  b.join();
}
