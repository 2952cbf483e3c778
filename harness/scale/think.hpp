// SPDX-License-Identifier: Apache-2.0
#pragma once

// How long a thread thinks between acquisitions, in steps of work. In a header and not in the
// study's source, which is compiled once more for a user's own locks: all locks of a program have
// to have the same.

#include "../work.hpp"

#include <cstdint>
#include <map>

namespace lockyard::harness {

/// Measured once by the process that starts all runs of a block, so that the locks that are
/// compared have the same.
inline std::uint32_t think_steps_of(double stretch_ns) {
  static std::map<double, std::uint32_t> known;
  const auto found = known.find(stretch_ns);
  return found != known.end() ? found->second
                              : known.emplace(stretch_ns, steps_apart(stretch_ns)).first->second;
}

}  // namespace lockyard::harness
