// SPDX-License-Identifier: Apache-2.0
#pragma once

// A wait from its beginning to its end, for objects of all kinds.

#include <type_traits>

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

/// Waits by `lock_until`, which returns ETIMEDOUT at a CLOCK_MONOTONIC limit, and looks at the
/// owner now and then: a look needs the waiter awake, so the wait is cut at growing intervals.
/// Waits by `lock` once the wait has become very long.
int wait_and_look(wait_evidence& evidence, auto lock_until, auto lock, auto owner, auto turn) {
  constexpr u64 looks_end_after_ns = 1000 * long_wait_ns;
  const u64 begin_ns = evidence.begin_ns();
  for (u64 slice = first_look_ns; slice < looks_end_after_ns; slice *= 2) {
    const u64 end_ns = begin_ns + slice;
    const timespec until{static_cast<time_t>(end_ns / 1'000'000'000),
                         static_cast<long>(end_ns % 1'000'000'000)};
    const int error = lock_until(&until);
    if (error != ETIMEDOUT) return error;
    evidence.look(static_cast<u32>(owner()), turn());
  }
  return lock();
}

/// Returns the cause of a wait for anything but a mutex. `woken` is the time of the release or the
/// event that ended it; 0 if none was noted.
inline wait_cause cause_of(const finished_wait& done, const wait_evidence& evidence, u64 woken,
                           u64 wait_ns) {
  if (wait_ns < long_wait_ns) return wait_cause::too_short;
  const double late = woken != 0 ? static_cast<double>(done.end - woken) : 0;
  const auto late_ns = static_cast<u64>(late / static_cast<double>(done.end - done.begin) *
                                        static_cast<double>(wait_ns));
  if (is_owned(done.kind)) return evidence.cause(wait_ns, late_ns, 0);
  if (woken == 0) return wait_cause::unknown;
  return late_ns > wait_ns / 2 ? wait_cause::woken_late : wait_cause::event_came;
}

/// Calls `wait`, and records how long it took and which thread ended it, if threads note that.
/// `wait` may take the evidence that it looks for.
template <class Wait>
[[gnu::noinline]] auto timed(const void* object, object_kind kind, const void* site, Wait wait,
                             u32 holder_tid = 0, bool is_timed = true) {
  thread_block* const own = own_record();
  const kept_errno before;
  wait_evidence evidence{own != nullptr ? monotonic_ns() : 0, 0};
  const auto call = [&] {
    if constexpr (std::is_invocable_v<Wait, wait_evidence&>) {
      return wait(evidence);
    } else {
      return wait();
    }
  };
  if (own == nullptr) return call();
  finished_wait done;
  done.object = object;
  done.kind = kind;
  done.holder_tid = holder_tid;
  done.waiter = stack_from(site);
  done.begin = ticks();
  begin_wait(*own, object, kind, site, done.waiter, is_timed, done.begin);
  before.restore();
  const auto result = call();
  const kept_errno after;
  done.end = ticks();
  end_wait(*own);
  evidence.end(0);
  const release_note woken = last_release(object);
  const bool is_of_this_wait = woken.ticks >= done.begin && woken.ticks <= done.end;
  done.cause = cause_of(done, evidence, is_of_this_wait ? woken.ticks : 0,
                        monotonic_ns() - evidence.begin_ns());
  done.detail = done.cause == wait_cause::holder_asleep ? evidence.system_call() : 0;
  add_wait(done, is_of_this_wait ? woken.stack : 0);
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
