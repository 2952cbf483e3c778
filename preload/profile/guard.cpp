// SPDX-License-Identifier: Apache-2.0

#include "guard.hpp"

#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "evidence.hpp"
#include "frames.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "wait_graph.hpp"

namespace lockyard::preload::record {

constinit guard_mode guarding = guard_mode::off;

namespace {

constexpr u32 most_reported = 4096;
constinit u64 long_hold_ns = 1'000'000'000;
constinit u32 forked_from = 0;
constinit u64 reported[most_reported] = {};
constinit u64 claimed[most_reported] = {};

/// Adds the key to the table. Returns whether it is new.
bool is_new(u64* table, u64 key) {
  for (u32 i = 0; i < most_reported; ++i) {
    u64& each = table[i];
    u64 none = 0;
    if (__atomic_load_n(&each, __ATOMIC_RELAXED) == key) return false;
    // relaxed(atomicity): the key is all that is published.
    if (__atomic_compare_exchange_n(&each, &none, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return true;
    }
    if (none == key) return false;
  }
  return false;
}

/// Returns whether this is the first report of its kind of this place.
bool is_first(event_kind what, u64 place) {
  return is_new(reported, (place * 8 + static_cast<u64>(what)) | u64{1} << 63);
}

event_block* new_event(event_kind what, u64 begin) {
  auto* const made = allocate_block<event_block>();
  if (made == nullptr) return nullptr;
  made->what = static_cast<u32>(what);
  made->begin_ticks = begin;
  made->ticks = ticks();
  return made;
}

void write_ring(const chain& of, event_kind what, u64 begin) {
  event_block* const to = new_event(what, begin);
  if (to == nullptr) return;
  to->count = of.count;
  for (u32 i = 0; i < of.count; ++i) {
    auto& party = to->parties[i];
    party.tid = of.links[i].tid;
    party.stack = of.links[i].stack;
    party.is_timed = of.links[i].is_timed;
    if (of.links[i].kind == object_kind::join) continue;
    party.object = of.links[i].object;
    note_module(reinterpret_cast<void*>(party.object));
    const held_lock* const held = held_by(of.links[(i + 1) % of.count].tid, party.object);
    if (held == nullptr) continue;
    party.held_at = held->site;
    party.held_stack = held->stack;
  }
  publish(to->head, block_kind::event);
}

void write_single(event_kind what, u64 object, u32 stack, u32 other, u64 since_ticks) {
  event_block* const to = new_event(what, since_ticks);
  if (to == nullptr) return;
  to->count = other != 0 ? 2 : 1;
  to->parties[0].tid = own_tid();
  to->parties[0].object = object;
  to->parties[0].stack = stack;
  note_module(reinterpret_cast<void*>(object));
  const u32 holder = other != 0 ? other : own_tid();
  if (const held_lock* const held = held_by(holder, object)) {
    to->parties[0].held_at = held->site;
    to->parties[0].held_stack = held->stack;
  }
  to->parties[1].tid = other;
  publish(to->head, block_kind::event);
}

void write_order(const ring& of) {
  event_block* const to = new_event(event_kind::order, ticks());
  if (to == nullptr) return;
  to->count = of.count;
  for (u32 i = 0; i < of.count; ++i) {
    to->parties[i] = {
        of.edges[i].tid, of.edges[i].to_stack, of.edges[i].to, 0, of.edges[i].from_stack, 0};
    to->parties[i].held_at = of.edges[i].from;
  }
  publish(to->head, block_kind::event);
}

/// Returns the error for one of the threads that have seen the ring, and 0 for the others. Only the
/// thread that has written the report ends the process: another one could end it before that.
int consequence(bool checks, u64 ring, bool wrote) {
  if (guarding == guard_mode::abort && wrote) {
    kernel(__NR_tgkill, getpid(), static_cast<long>(own_tid()), SIGABRT);
  }
  const bool gets_error =
      guarding == guard_mode::error_to_all || (guarding == guard_mode::error && checks);
  return gets_error && is_new(claimed, ring | 1) ? EDEADLK : 0;
}

void remove(held_list& from, u64 object) {
  for (u32 i = std::min(from.count, most_held); i-- > 0;) {
    if (from.locks[i].object != object) continue;
    const held_lock was = from.locks[i];
    for (u32 k = i + 1; k < from.count; ++k) from.locks[k - 1] = from.locks[k];
    --from.count;
    const u64 held_ns = monotonic_ns() - was.since_ns;
    if (held_ns >= long_hold_ns && is_first(event_kind::long_hold, was.site)) {
      event_block* const to = new_event(event_kind::long_hold, 0);
      if (to == nullptr) return;
      to->count = 1;
      to->parties[0].tid = own_tid();
      to->parties[0].object = object;
      to->parties[0].held_at = held_ns;
      to->parties[0].held_stack = was.stack;
      note_module(reinterpret_cast<void*>(object));
      publish(to->head, block_kind::event);
    }
    return;
  }
}

/// Returns the owner of a mutex whose memory may be gone, or 0.
u32 owner_if_there(u64 mutex) {
  u32 owner = 0;
  iovec to{&owner, sizeof owner};
  iovec from{reinterpret_cast<char*>(mutex) + offsetof(mutex_layout, owner), sizeof owner};
  const long read =
      is_confined() ? 0 : kernel(__NR_process_vm_readv, getpid(), word(&to), 1, word(&from), 1, 0);
  return read == static_cast<long>(sizeof owner) ? owner : 0;
}

bool is_own(u32 owner) {
  return owner == own_tid() || (forked_from != 0 && owner == forked_from);
}

}  // namespace

void begin_guard() {
  const char* const mode = std::getenv("LOCKYARD_GUARD");
  if (mode == nullptr || file == nullptr) return;
  if (const char* const limit = std::getenv("LOCKYARD_LONG_HOLD_NS")) {
    long_hold_ns = std::strtoull(limit, nullptr, 10);
  }
  guarding = std::strcmp(mode, "error") == 0          ? guard_mode::error
             : std::strcmp(mode, "error-to-all") == 0 ? guard_mode::error_to_all
             : std::strcmp(mode, "abort") == 0        ? guard_mode::abort
                                                      : guard_mode::report;
}

void forget_guard(u32 parent_tid) {
  forked_from = parent_tid;
  forget_lists();
  std::memset(reported, 0, sizeof reported);
  std::memset(claimed, 0, sizeof claimed);
  forget_orders();
}

static int guard_wait(thread_block& own, const void* site, u64 begin_ticks, bool checks) {
  if (own.is_timed != 0) return 0;
  const chain seen = follow(own);
  if (!seen.is_ring) return 0;
  for (u32 i = 0; i < seen.count; ++i) {
    if (seen.links[i].is_timed) return 0;
  }
  // An owner may have left in between. A thread that is in the same wait as before has not.
  if (!(follow(own) == seen)) return 0;
  if (seen.count == 1) {
    const bool writes = is_first(event_kind::self_deadlock, reinterpret_cast<u64>(site));
    if (writes) write_ring(seen, event_kind::self_deadlock, begin_ticks);
    return consequence(checks, begin_ticks, writes);
  }
  u64 place = 0;
  for (u32 i = 0; i < seen.count; ++i) place += seen.links[i].since ^ seen.links[i].object;
  const bool writes = is_first(event_kind::deadlock, place);
  if (writes) write_ring(seen, event_kind::deadlock, begin_ticks);
  return consequence(checks, place, writes);
}

int guard_wait(pthread_mutex_t* m, thread_block& own, const void* site, u64 begin_ticks) {
  own_list();  // by which pthread_join finds the thread
  const int type = type_of(layout_of(m).kind);
  // glibc answers a thread that holds such a mutex.
  if (checks_owner(type) && owner_of(reinterpret_cast<u64>(m)) == own_tid()) return 0;
  return guard_wait(own, site, begin_ticks, type == PTHREAD_MUTEX_ERRORCHECK);
}

int guard_wait_for_other(const void* site, u64 begin_ticks) {
  thread_block* const own = own_record();
  own_list();
  return own != nullptr ? guard_wait(*own, site, begin_ticks, false) : 0;
}

void guard_took_rwlock(const void* lock, const void* site) {
  held_list* const held = own_list();
  if (held == nullptr || held->rwlock_count == most_rwlocks) return;
  held->rwlocks[held->rwlock_count] = {reinterpret_cast<u64>(lock), reinterpret_cast<u64>(site),
                                       monotonic_ns(), stack_from(site)};
  // order[guard]: seq_cst; pairs [guard]; of two threads that close a ring, one sees the other.
  __atomic_store_n(&held->rwlock_count, held->rwlock_count + 1, __ATOMIC_SEQ_CST);
}

void guard_gives_rwlock(const void* lock) {
  held_list* const held = own_list();
  if (held == nullptr) return;
  for (u32 i = held->rwlock_count; i-- > 0;) {
    if (held->rwlocks[i].object != reinterpret_cast<u64>(lock)) continue;
    held->rwlocks[i] = held->rwlocks[held->rwlock_count - 1];
    // order[guard]: seq_cst; pairs [guard]; as above.
    __atomic_store_n(&held->rwlock_count, held->rwlock_count - 1, __ATOMIC_SEQ_CST);
    return;
  }
}

void guard_acquired(pthread_mutex_t* m, const void* site, bool is_try) {
  held_list* const held = own_list();
  if (held == nullptr) return;
  const held_lock next{reinterpret_cast<u64>(m), reinterpret_cast<u64>(site), monotonic_ns(),
                       stack_from(site), (layout_of(m).kind & kind_bits::robust) != 0};
  if (is_plain(layout_of(m).kind) && layout_of(m).count == 1) forget_order(next.object);
  // A thread that already holds the mutex does not wait for it.
  if (held->count > 0 && !is_try && find(held->locks, held->count, next.object) == nullptr) {
    const ring found = note_order(*held, next, own_tid());
    if (found.count != 0) write_order(found);
  }
  if (held->count < most_held) held->locks[held->count] = next;
  if (held->count < most_held) ++held->count;
}

void guard_unlock(pthread_mutex_t* m, const void* site) {
  const auto& layout = layout_of(m);
  if (is_plain(layout.kind) && !checks_owner(type_of(layout.kind))) {
    const auto owner = static_cast<u32>(__atomic_load_n(&layout.owner, __ATOMIC_RELAXED));
    if (!is_own(owner)) {
      if (is_first(event_kind::stranger, reinterpret_cast<u64>(site))) {
        write_single(event_kind::stranger, reinterpret_cast<u64>(m), stack_from(site), owner, 0);
      }
      return;
    }
  }
  guard_released(m);
}

void guard_released(pthread_mutex_t* m) {
  if (held_list* const held = own_list()) remove(*held, reinterpret_cast<u64>(m));
}

bool holds_mutexes() {
  const held_list* const held = guarding != guard_mode::off ? own_list() : nullptr;
  return held != nullptr && held->count != 0;
}

void guard_end() {
  if (!holds_mutexes()) return;
  const held_list& held = *own_list();
  for (u32 i = 0; i < held.count; ++i) {
    const held_lock& each = held.locks[i];
    if (each.ends_with_owner || owner_if_there(each.object) != own_tid()) continue;
    if (!is_first(event_kind::forgotten, each.site)) continue;
    write_single(event_kind::forgotten, each.object, 0, 0, 0);
  }
}

void guard_destroy(pthread_mutex_t* m, const void* site) {
  const auto& layout = layout_of(m);
  if (!is_plain(layout.kind)) return;
  const auto owner = static_cast<u32>(__atomic_load_n(&layout.owner, __ATOMIC_RELAXED));
  if (owner != 0 && is_first(event_kind::destroyed_in_use, reinterpret_cast<u64>(site))) {
    write_single(event_kind::destroyed_in_use, reinterpret_cast<u64>(m), stack_from(site), owner,
                 0);
  }
  if (owner == 0) forget_order(reinterpret_cast<u64>(m));
}

}  // namespace lockyard::preload::record
