// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A call passes a shared struct by value, and another stores its result
// there: both are accesses, although they are operands of calls.
#include <thread>
struct point {
  long x, y, z;
};
static point shared;
[[gnu::noinline]] static point at(long where) {
  return {where, where, where};
}
[[gnu::noinline]] static long sum(point of) {
  return of.x + of.y + of.z;
}
int main() {
  std::thread other{[] { shared = at(2); }};
#ifndef FAULT
  other.join();
#endif
  const long found = sum(shared);
#ifdef FAULT
  other.join();
#endif
  return found < 0;
}
