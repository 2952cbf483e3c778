// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/resilient/resilient_lock.hpp>
#include <lockyard/resilient/throwing.hpp>
#include <lockyard/world/default.hpp>

namespace lockyard::inline v0 {

/// The resilient queued spinlock of Linux for threads: a deadlock, a stuck or a dead owner ends in
/// an error, not in a hang.
///
/// Use: as queued_spinlock, where locks are taken by code that does not know of each other. When
///   not: docs/locks/resilient.md.
/// Source: K. K. Dwivedi and A. Starovoitov, "Resilient Queued Spin Lock" (Linux 6.15, 2025), with
///   the semantics of the mends up to 7.2; nodes that may be cancelled after M. Scott and W.
///   Scherer (2001, 2002); tables by tag, cycles of any length and owner death are this library's.
/// Guarantees: mutual exclusion; first come, first served, but for a thread without a node. Not
///   recursive. Usable between a thread and its own signal handlers, if the thread has locked one
///   resilient lock before. After fork the child may use locks for which nobody waited, and may
///   wait for ever for others; one that another thread held reports a dead owner. May be destroyed
///   by the next owner as soon as that one holds it.
/// Size: 16 bytes, and for all together 2.5 MiB of tables and nodes in zeroed static memory,
/// touched
///   where threads use them. All zero bytes are the free state.
template <world W = default_world, resilience R = resilience{}>
class basic_resilient_spinlock
    : public resilient_lock<basic_resilient_spinlock<W, R>, W, R, detail::line_form::spins> {
 public:
  using basic_resilient_spinlock::resilient_lock::resilient_lock;
};

using resilient_spinlock = basic_resilient_spinlock<>;

}  // namespace lockyard::inline v0
