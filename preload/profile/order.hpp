// SPDX-License-Identifier: Apache-2.0
#pragma once

// The order in which threads acquire mutexes while they hold others.

#include "layout.hpp"

namespace lockyard::preload::record {

/// A mutex that a thread holds.
struct held_lock {
  u64 object = 0;
  u64 site = 0;
  u64 since_ns = 0;
  u32 stack = 0;
  bool ends_with_owner = false;  ///< robust: the next owner is told that this one has ended
};

inline constexpr u32 most_held = 48, most_rwlocks = 16;

/// What a thread holds. Orders are of mutexes only: readers of an rwlock let each other in.
struct held_list {
  u32 count = 0;
  held_lock locks[most_held];
  u32 rwlock_count = 0;
  held_lock rwlocks[most_rwlocks];
  u64 handle = 0;  ///< the thread's pthread_t
};

inline constexpr u32 longest_ring = 4;

/// An acquisition of one mutex while another was held.
struct ring_edge {
  u64 from = 0, to = 0;
  u32 tid = 0;
  u32 from_stack = 0, to_stack = 0;
};

/// Edges that form a ring: the mutex that each acquires is the one that the next holds.
struct ring {
  u32 count = 0;
  ring_edge edges[longest_ring];
};

/// Notes that a thread acquires `next` while it holds the list. Returns a ring that this closes and
/// that was not returned before: two or more threads could deadlock there. A ring whose edges are
/// all of one thread, or all under one common mutex, is none.
ring note_order(const held_list& held, const held_lock& next, u32 tid);

/// The memory of the mutex is another mutex from now on.
void forget_order(u64 object);

/// After a fork, in the child.
void forget_orders();

}  // namespace lockyard::preload::record
