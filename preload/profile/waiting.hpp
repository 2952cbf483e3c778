// SPDX-License-Identifier: Apache-2.0
#pragma once

// A wait from its beginning to its end, for objects of all kinds.

#include "evidence.hpp"
#include "frames.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "tables.hpp"

namespace lockyard::preload::record {

/// Restores errno, which a call that succeeds leaves alone.
class kept_errno {
 public:
  kept_errno() : value_{errno} {}
  void restore() const { errno = value_; }

 private:
  int value_;
};

/// Publishes what the thread waits for. Its end is end_wait(): a cancelled thread, which skips
/// that, ends the publication with its record.
inline void begin_wait(thread_block& own, const void* object, object_kind kind, const void* site,
                       u32 stack, bool is_timed, u64 now) {
  own.waits_kind = static_cast<u32>(kind);
  own.is_timed = is_timed ? 1 : 0;
  own.waits_at = reinterpret_cast<u64>(site);
  own.waits_stack = stack;
  __atomic_store_n(&own.waits_since, now, __ATOMIC_RELAXED);
  // order[guard]: seq_cst; pairs [guard]; a thread that closes a ring sees the other waits of it.
  __atomic_store_n(&own.waits_for, reinterpret_cast<u64>(object), __ATOMIC_SEQ_CST);
}

inline void end_wait(thread_block& own) {
  // order[guard]: release; pairs [guard]; this wait is over before the next one's fields change.
  __atomic_store_n(&own.waits_for, 0, __ATOMIC_RELEASE);
}

/// Calls `wait`, and records how long it took and which thread ended it, if threads note that.
template <class Wait>
[[gnu::noinline]] auto timed(const void* object, object_kind kind, const void* site, Wait wait) {
  thread_block* const own = own_record();
  if (own == nullptr) return wait();
  const kept_errno before;
  finished_wait done;
  done.object = object;
  done.kind = kind;
  done.cause = wait_cause::unknown;  // looked for in waits for mutexes only
  done.waiter = stack_from(site);
  done.begin = ticks();
  begin_wait(*own, object, kind, site, done.waiter, true, done.begin);
  before.restore();
  const auto result = wait();
  const kept_errno after;
  done.end = ticks();
  end_wait(*own);
  const release_note woken = last_release(object);
  add_wait(done, woken.ticks >= done.begin ? woken.stack : 0);
  after.restore();
  return result;
}

/// The thread has released the object, or woken its waiters.
[[gnu::noinline]] inline void note_release_at(const void* object, const void* site) {
  const kept_errno before;
  const u64 now = ticks();
  note_release(object, {now, stack_from(site)});
  before.restore();
}

}  // namespace lockyard::preload::record
