// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sums of a thread's waits, in blocks of its own: by lock, and by the places of waiter and
// holder.

#include "layout.hpp"

namespace lockyard::preload::record {

/// A wait that has ended.
struct finished_wait {
  const void* object = nullptr;
  object_kind kind = object_kind::mutex;
  u32 waiter = 0;                     ///< stack
  const void* holder_site = nullptr;  ///< where the holder at the beginning had acquired
  u64 begin = 0, end = 0;             ///< ticks
  u32 others = 0;                     ///< acquisitions by other threads meanwhile
  u32 acquisitions = 0;
  wait_cause cause = wait_cause::too_short;
  int detail = 0;
  u32 holder_tid = 0;  ///< at the beginning; 0: unknown
};

/// Returns this thread's block for the object, or null.
lock_block* lock_entry(const void* object, object_kind kind);

/// Adds the wait, with the holder's stack, 0 if it is unknown.
void add_wait(const finished_wait& wait, u32 holder);

/// A sampled time, and whether the thread kept its processor.
struct sampled_length {
  u64 ticks;
  bool is_disturbed;
};

/// Adds a sampled hold.
void add_hold(const void* object, const void* site, sampled_length hold);

/// Adds the time from a sampled hold to the thread's next call for the same mutex.
void add_gap(const void* object, sampled_length gap);

/// A release that wakes a waiter.
void add_wake(const void* object);

void add_failed_try(const void* object, object_kind kind);

/// The last release of an object while threads waited for it, or the last signal or post that woke
/// a thread.
struct release_note {
  u64 ticks = 0;
  u32 stack = 0;
  holder_mark mark = holder_mark::unknown;
};
void note_release(const void* object, release_note note);

/// Returns the note of the object; all zeros if there is none.
release_note last_release(const void* object);

}  // namespace lockyard::preload::record
