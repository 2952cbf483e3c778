// SPDX-License-Identifier: Apache-2.0
#include <lockyard/world/native.hpp>

// The state that must exist once per process, as this plug-in sees it.

using lockyard::native;

extern "C" [[gnu::visibility("default")]] void* slot_registry() {
  return &native::process_state<lockyard::detail::slot_registry>();
}
extern "C" [[gnu::visibility("default")]] void* asymmetric_fence() {
  return &native::process_state<lockyard::detail::asymmetric_fence>();
}
extern "C" [[gnu::visibility("default")]] void* slot_of_this_thread() {
  return &native::thread_state<lockyard::detail::slot_memory>();
}
