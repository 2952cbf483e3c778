// SPDX-License-Identifier: Apache-2.0
#include "study.hpp"

#include <array>

namespace lockyard::simulation {

std::span<const study_declaration> study_declarations() noexcept {
  static constexpr std::array declarations{
      study_declaration{"wait",
                        "how long a thread waits for the lock, with a clock read before and "
                        "after every acquisition",
                        run_wait},
      study_declaration{"idle", "how long the lock is free between two owners", run_idle},
      study_declaration{"throughput", "acquisitions per second, without a clock", run_throughput},
      study_declaration{"contention",
                        "how much work threads do together when each needs the lock for a share of "
                        "its work, in random intervals",
                        run_contention},
      study_declaration{"scale",
                        "operations per second of several locks that are used like a "
                        "kernel's",
                        run_scale},
  };
  return declarations;
}

}  // namespace lockyard::simulation
