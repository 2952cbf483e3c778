// SPDX-License-Identifier: Apache-2.0
#pragma once

// The time that a thread thinks between acquisitions, in steps of work. It is in a header and not
// in the study's source, which is compiled again for user locks: all locks of a program must have
// the same.

#include "../work.hpp"

#include <cstdint>
#include <map>

namespace lockyard::harness {

/// Measured once by the process that starts all runs of a block, so that compared locks have the
/// same number of steps.
inline std::uint32_t think_steps_of(double stretch_ns) {
  static std::map<double, std::uint32_t> known;
  const auto found = known.find(stretch_ns);
  return found != known.end() ? found->second
                              : known.emplace(stretch_ns, steps_apart(stretch_ns)).first->second;
}

}  // namespace lockyard::harness
