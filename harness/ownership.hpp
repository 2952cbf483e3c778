// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace lockyard::harness {

/// Kept by the lock's owner, in the data that the lock protects.
struct ownership {
  std::uint64_t counter = 0;
  std::uint64_t switches = 0;
  unsigned owner = std::numeric_limits<unsigned>::max();

  void enter(unsigned thread) noexcept {
    counter = counter + 1;
    if (owner != thread) {
      owner = thread;
      switches = switches + 1;
    }
  }
};

}  // namespace lockyard::harness
