// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the contenders of this machine have in common.

#include "../clock.hpp"
#include "../spans.hpp"

namespace lockyard::harness::loops {

/// A thread of this machine in its loop. Contenders are aggregates of this and what else they need,
/// so that compilers keep that in registers; what they would rather call than inline is marked.
/// Only the count of operations is in memory, where no compiler can count before the lock is
/// released.
struct native_contender {
  [[gnu::always_inline]] static ticks read_clock() noexcept { return clock::now(); }
  [[gnu::always_inline]] static ticks read_clock_early() noexcept { return clock::now_early(); }

  thread_span& span;
};

}  // namespace lockyard::harness::loops
