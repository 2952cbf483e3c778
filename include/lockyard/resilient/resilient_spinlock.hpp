// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/resilient/resilient_lock.hpp>
#include <lockyard/resilient/throwing.hpp>
#include <lockyard/world/default.hpp>

namespace lockyard::inline v0 {

/// The resilient queued spinlock of Linux, for threads: a deadlock, a stuck owner or a dead owner
/// ends in an error, not in a hang.
///
/// Use: as queued_spinlock, where independent pieces of code acquire the locks.
///   docs/locks/resilient.md says when not to use it.
/// Source: K. K. Dwivedi and A. Starovoitov, "Resilient Queued Spin Lock" (Linux 6.15, 2025), with
///   the semantics of the fixes up to 7.2; nodes that may be cancelled after M. Scott and W.
///   Scherer (2001, 2002); tables by tag, cycles of any length and owner death are additions of
///   this library.
/// Guarantees: mutual exclusion; first come, first served, except for a thread without a node. Not
///   recursive. Usable between a thread and its own signal handlers, if the thread has locked one
///   resilient lock before. After fork the child may use locks for which no thread waited, and may
///   wait forever for other locks; a lock that another thread held reports a dead owner. The next
///   owner may destroy the lock as soon as it holds the lock.
/// Size: 16 bytes, and 2.5 MiB of tables and nodes in zeroed static memory, which all locks share;
///   only the parts that threads use are touched. All zero bytes are the free state.
template <world W = default_world, resilience R = resilience{}>
class basic_resilient_spinlock
    : public resilient_lock<basic_resilient_spinlock<W, R>, W, R, detail::line_form::spins> {
 public:
  using basic_resilient_spinlock::resilient_lock::resilient_lock;
};

using resilient_spinlock = basic_resilient_spinlock<>;

}  // namespace lockyard::inline v0
