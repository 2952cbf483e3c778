// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A promise orders all before set_value(), and nothing behind it.
#include <cassert>
#include <future>
#include <thread>
static int data;
int main() {
  std::promise<int> promise;
  std::future<int> result = promise.get_future();
  std::thread maker{[&] {
    data = 1;
    promise.set_value(5);
#ifdef FAULT
    data = 2;
#endif
  }};
  assert(result.get() == 5);
  assert(data == 1);
  maker.join();
}
