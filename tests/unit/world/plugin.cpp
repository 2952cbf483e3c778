// SPDX-License-Identifier: Apache-2.0
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/world/native.hpp>

#include <chrono>
#include <mutex>
#include <thread>

// A part of a program: what it takes the state of the process to be, and a use of a mutex that
// another part has made.

using lockyard::native;

extern "C" [[gnu::visibility("default")]] void* slot_registry() {
  return &native::process_state<lockyard::detail::slot_registry>();
}
extern "C" [[gnu::visibility("default")]] void* asymmetric_fence() {
  return &native::process_state<lockyard::detail::asymmetric_fence>();
}
extern "C" [[gnu::visibility("default")]] void* bucket() {
  return &lockyard::detail::parking_lot<native>::bucket_of(nullptr);
}

/// Every second owner stays until the others sleep.
extern "C" [[gnu::visibility("default")]] void count(void* mutex, unsigned* counter,
                                                     unsigned rounds) {
  auto& lock = *static_cast<lockyard::mutex*>(mutex);
  for (unsigned i = 0; i < rounds; ++i) {
    const std::scoped_lock guard{lock};
    ++*counter;
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
}
