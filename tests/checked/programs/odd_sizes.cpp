// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Objects of 3 and of 12 bytes are atomic; two of them are not.
#include <atomic>
#include <cassert>
#include <thread>
struct triple {
  int a, b, c;
};
struct colour {
  unsigned char red, green, blue;
};
static std::atomic<triple> numbers{triple{0, 0, 0}};
static std::atomic<colour> paint{colour{0, 0, 0}};
int main() {
  std::thread other{[] {
    numbers.store({1, 1, 1});
    colour seen = paint.load();
    while (!paint.compare_exchange_weak(seen, {1, 1, 1})) {
    }
  }};
  const colour dry = paint.load();
  const triple found = numbers.load(std::memory_order_relaxed);
  assert(found.a == found.b && found.b == found.c && dry.red == dry.blue);
#ifdef FAULT
  assert(found.a == dry.red);
#else
  assert(found.a >= dry.red);
#endif
  other.join();
}
