// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. An object whose class has virtual bases: where they lie the object says,
// and not its type.
#include <atomic>
#include <cassert>
#include <thread>

struct base {
  virtual ~base() = default;
  int data = 0;
};
struct left : virtual base {
  std::atomic<bool> is_done{false};
};
struct right : virtual base {};
struct both : left, right {};

int main() {
  both object;
  std::thread writer{[&] {
    object.data = 1;
#ifdef FAULT
    object.is_done.store(true, std::memory_order_relaxed);
#else
    object.is_done.store(true, std::memory_order_release);
#endif
  }};
  if (object.is_done.load(std::memory_order_acquire)) assert(object.data == 1);
  writer.join();
}
