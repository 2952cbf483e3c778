// SPDX-License-Identifier: Apache-2.0
#include <lockyard/world/native.hpp>

extern "C" [[gnu::visibility("default")]] void* slot_registry_of_this_plugin() {
  return &lockyard::native::process_state<lockyard::detail::slot_registry>();
}
