// SPDX-License-Identifier: Apache-2.0

// membarrier(), which makes a fence of each std::atomic_signal_fence(seq_cst) that another thread
// has executed before, or executes afterwards: the engine's heavy and light fences. Barriers by
// which the compiler alone is stopped in another way, as by an empty asm, are not seen.

#include "membarrier.hpp"

#include "program.hpp"
#include "wrapped.hpp"

#include <linux/membarrier.h>

#include <cerrno>

namespace lockyard::plain {

/// Where other threads run, their barriers may come before it or after it.
void barrier_registration::make() {
  if (!is_made_ && !now().runs_alone(worker::mine().threads.existing())) now().note_unordered();
  is_made_ = true;
}

long membarrier(int command, unsigned flags, std::source_location where) {
  constexpr int known = MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_GLOBAL_EXPEDITED |
                        MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED |
                        MEMBARRIER_CMD_PRIVATE_EXPEDITED |
                        MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
  barrier_registration& registration = worker::mine().barriers;
  if (flags != 0) return failed(EINVAL);
  switch (command) {
    case MEMBARRIER_CMD_QUERY: return known;
    case MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED: return 0;
    case MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: registration.make(); return 0;
    case MEMBARRIER_CMD_PRIVATE_EXPEDITED:
      if (!registration.is_made()) return failed(EPERM);
      break;
    case MEMBARRIER_CMD_GLOBAL:
    case MEMBARRIER_CMD_GLOBAL_EXPEDITED: break;
    default:
      refuse("the checker does not have the membarrier command " + std::to_string(command),
             "use MEMBARRIER_CMD_PRIVATE_EXPEDITED or MEMBARRIER_CMD_GLOBAL", where);
  }
  if (!has_signal_fences()) {
    refuse("the code calls membarrier() and has no std::atomic_signal_fence()",
           "write std::atomic_signal_fence(std::memory_order_seq_cst) where other threads stop the "
           "compiler in another way, such as by an empty asm: the checker does not see that",
           where);
  }
  worker::mine().loop().act();
  now().heavy_fence(where);
  return 0;
}

void signal_fence(std::source_location where) {
  worker::mine().loop().fence();
  now().light_fence(where);
  clear_dead_stack();
}

}  // namespace lockyard::plain
