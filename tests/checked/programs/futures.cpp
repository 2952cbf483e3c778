// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. set_value happens before the get() that returns it, and so does all that
// an async function does.
#include <cassert>
#include <future>
int main() {
  int data = 0;
  std::future<int> result = std::async(std::launch::async, [&] {
    data = 3;
    return 4;
  });
#ifdef FAULT
  assert(data == 0 || data == 3);
#endif
  assert(result.get() == 4 && data == 3);
}
