// SPDX-License-Identifier: Apache-2.0

// A part of a program: where it takes the state of the process to be, and uses of a mutex that
// another part has made.

#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/resilient/resilient_mutex.hpp>
#include <lockyard/world/native.hpp>
#include <lockyard/world/tracing.hpp>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "plugin.hpp"

namespace {

using lockyard::native;

/// Every second owner stays until the others sleep.
void count_under(void* mutex, unsigned* counter, unsigned rounds) {
  auto& lock = *static_cast<lockyard::mutex*>(mutex);
  for (unsigned i = 0; i < rounds; ++i) {
    const std::scoped_lock guard{lock};
    ++*counter;
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
}

part_interface this_part() {
  using namespace lockyard;
  using namespace lockyard::detail;
  return {
      .states = {&native::process_state<slot_registry>(),
                 &native::process_state<asymmetric_fence>(),
                 &parking_lot<native>::bucket_of(nullptr),
                 &parking_lot<tracing_waits>::bucket_of(nullptr),
                 &native::process_state<queue_nodes<native>>(),
                 &native::process_state<queue_nodes<native, std::uint32_t, 8>>(),
                 &native::process_state<held_locks<native>>(),
                 &native::process_state<limits_of_type<resilience{}>>(),
                 &native::process_state<limits_of_type<resilience{.pending_ms = 7}>>(),
                 &native::process_state<trace::detail::current_trace>(),
                 &native::process_state<contention_hook_state>(),
                 &native::process_state<thread_keys>(), &native::process_state<calibration>(),
                 &native::process_state<fork_epoch>(), &native::process_state<last_fork_epoch>()},
      .count = count_under,
      .lock = [](void* mutex) { static_cast<lockyard::mutex*>(mutex)->lock(); },
      .unlock = [](void* mutex) { static_cast<lockyard::mutex*>(mutex)->unlock(); },
      .slot = [] { return native::thread_slot(); },
      .key = [] { return native::thread_key(); },
  };
}

#if defined(USES_LOCKS_WHEN_LOADED)
/// Threads that sleep for a mutex, and a slot that a thread keeps, while the objects of the
/// executable are not constructed yet.
const struct early_user {
  early_user() {
    lockyard::mutex mutex;
    unsigned counter = 0;
    std::thread other{count_under, &mutex, &counter, 50};
    count_under(&mutex, &counter, 50);
    other.join();
    native::thread_slot();
  }
} early;
#endif

}  // namespace

extern "C" [[gnu::visibility("default")]] void PART_FUNCTION(part_interface* to) {
  *to = this_part();
}
