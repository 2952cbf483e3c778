// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The initialisation of a static local is done once and happens before
// every use; by hand it is a race.
#include <cassert>
#include <thread>
struct config {
  int value;
  config() : value{6} {}
};
static config* by_hand;
static int value() {
#ifdef FAULT
  if (by_hand == nullptr) by_hand = new config;
  return by_hand->value;
#else
  static config only;
  return only.value;
#endif
}
int main() {
  std::thread other{[] { assert(value() == 6); }};
  assert(value() == 6);
  other.join();
}
