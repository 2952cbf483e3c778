// SPDX-License-Identifier: Apache-2.0
#include "study.hpp"

#include <array>

namespace lockyard::simulation {

std::span<const study_declaration> study_declarations() noexcept {
  static const std::array declarations{
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
      study_declaration{.name = "bystander",
                        .summary =
                            "how much slower a thread works while others contend for a lock that "
                            "it does not use",
                        .run = run_bystander,
                        .usual = {.duration = 60 * ms}},
      study_declaration{
          .name = "priority",
          .summary = "how long an urgent thread waits for a lock held by less urgent "
                     "threads, while a thread in between keeps these off the processor",
          .run = run_priority,
          .usual = {.threads = 2, .hold = 20 * us, .gap = 20 * us, .duration = 500 * ms}},
      study_declaration{.name = "workers",
                        .summary =
                            "how soon an idle worker starts a task, and what its waiting costs, "
                            "for each idle policy of a pool",
                        .run = run_workers,
                        .usual = {.gap = 1 * ms, .duration = 100 * ms},
                        .measures_pools = true},
  };
  return declarations;
}

}  // namespace lockyard::simulation
