// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of a contender that is the same in all studies of this machine.

#include "../clock.hpp"
#include "../spans.hpp"

namespace lockyard::harness::loops {

/// A thread of this machine in its loop. Contenders are aggregates of this and their own members,
/// so that compilers keep the members in registers; functions that compilers would not inline are
/// marked always_inline. Only the count of operations is in memory, where no compiler can count
/// before the lock is released.
struct native_contender {
  [[gnu::always_inline]] static ticks read_clock() noexcept { return clock::now(); }
  [[gnu::always_inline]] static ticks read_clock_early() noexcept { return clock::now_early(); }

  thread_span& span;
};

}  // namespace lockyard::harness::loops
