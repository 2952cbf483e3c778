// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions that replace others for a module's code. The module is linked with --wrap=name for
// each, so its calls of `name` reach `__wrap_name`, and the checker's own calls do not
// (src/lockyard/user_locks/wrapped.txt lists the names).

#include "places.hpp"
#include "program.hpp"

namespace lockyard::plain {

inline execution& now() {
  return *execution::current();
}

inline location_index word_of_system(const void* address, std::source_location where) {
  constexpr unsigned bytes = 4;
  const part found =
      worker::mine().memory.word_at(reinterpret_cast<std::uintptr_t>(address), bytes, where);
  if (found.unit != bytes) {
    refuse("the system's word is a part of a larger atomic object",
           "give the system an object of its own", where);
  }
  return found.word;
}

}  // namespace lockyard::plain

#define LOCKYARD_HERE lockyard::plain::place_of(__builtin_return_address(0))
