// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which thread waits for what, and which threads hold it: mutexes have one owner, rwlocks a writer
// or some readers, and a thread that is joined holds its own end. Semaphores have no owners.

#include "order.hpp"

namespace lockyard::preload::record {

/// Returns what this thread holds, or null.
held_list* own_list();

/// After a fork, in the child.
void forget_lists();

/// Returns the lock in the first `count` of the locks, or null.
const held_lock* find(const held_lock* locks, u32 count, u64 object);

/// Returns how the thread holds the object, or null.
const held_lock* held_by(u32 tid, u64 object);

/// Returns the thread that owns the mutex at the address, or 0.
u32 owner_of(u64 mutex);

/// One wait of a ring, as it is now.
struct link_seen {
  u32 tid = 0;
  u64 object = 0;
  object_kind kind = object_kind::mutex;
  u64 since = 0;
  bool is_timed = false;
  u64 at = 0;
  u32 stack = 0;
  friend bool operator==(const link_seen&, const link_seen&) = default;
};

struct chain {
  u32 count = 0;
  bool is_ring = false;
  link_seen links[event_parties];
  friend bool operator==(const chain&, const chain&) = default;
};

/// Follows holders and what they wait for, until it is back at the first thread. A writer waits for
/// each reader, so one reader that never leaves is enough.
chain follow(const thread_block& from);

}  // namespace lockyard::preload::record
