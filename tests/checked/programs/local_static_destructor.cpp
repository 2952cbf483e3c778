// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A static object of a function is destroyed after main() if a thread
// has called the function. With FAULT a destructor that runs later uses it.
#include <cassert>
#include <thread>
struct number {
  int* value = new int{3};
  ~number() { delete value; }
};
static number& common() {
  static number only;
  return only;
}
struct reader {
  const number* from = nullptr;
  ~reader() {
    if (from != nullptr) assert(*from->value == 3);
  }
};
static reader last;
int main() {
  std::thread thread{[] { assert(*common().value == 3); }};
  const number& found = common();
  thread.join();
#ifdef FAULT
  last.from = &found;
#else
  assert(*found.value == 3);
#endif
}
