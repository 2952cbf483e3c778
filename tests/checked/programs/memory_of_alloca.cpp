// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A thread writes memory that alloca has taken where a function had its
// variables that has returned.
#include <alloca.h>
#include <thread>
[[gnu::noinline]] static int before() {
  volatile int values[64];
  values[3] = 1;
  return values[3];
}
[[gnu::noinline]] static int shared() {
  int* const value = static_cast<int*>(alloca(64));
  std::thread other{[value] { *value = 1; }};
#ifdef FAULT
  const int found = *value;
  other.join();
#else
  other.join();
  const int found = *value;
#endif
  return found;
}
int main() {
  return before() == shared() ? 0 : 1;
}
