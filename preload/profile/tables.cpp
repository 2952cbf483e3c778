// SPDX-License-Identifier: Apache-2.0

#include "tables.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "frames.hpp"
#include "memory.hpp"

namespace lockyard::preload::record {
namespace {

constexpr std::size_t most_probes = 64, notes = 4096;

u64 mixed(u64 value) {
  return (value ^ (value >> 31)) * 0x9e3779b97f4a7c15;
}

/// Returns the block that `fits` in the thread's index, one that `make` returns if there is none,
/// or null. Only the owner of the index, and its signal handlers, write to it.
template <class Block>
Block* find(thread_block& in, u64 hash, block_kind kind, auto fits, auto make) {
  for (std::size_t i = 0; i < most_probes; ++i) {
    u32& slot = in.index[((hash >> 40) + i) % index_slots];
    if (slot == 0) {
      auto* const made = allocate_block<Block>();
      if (made == nullptr) return nullptr;
      make(*made);
      publish(made->head, kind);
      // order[block]: release; pairs [reader of the file]; publishes the block.
      __atomic_store_n(&slot, offset_of(made), __ATOMIC_RELEASE);
      return made;
    }
    auto* const each = at_offset<Block>(slot);
    if (each->head.kind == static_cast<u32>(kind) && fits(*each)) return each;
  }
  count_lost();
  return nullptr;
}

/// Four buckets to each power of two.
std::size_t bucket_of(u64 value) {
  if (value < 4) return value;
  const int power = static_cast<int>(std::bit_width(value)) - 1;
  const std::size_t found = static_cast<std::size_t>(power - 1) * 4 + ((value >> (power - 2)) & 3);
  return std::min(found, histogram_buckets - 1);
}

// A note, without a lock: `key` is the object XOR the others, so parts of two notes do not fit.
struct stored_note {
  u64 key, ticks, stack;
};
constinit stored_note board[notes] = {};

stored_note& note_of(const void* object) {
  return board[mixed(reinterpret_cast<u64>(object)) >> 52];
}

/// Writes what one thread writes and readers of the file read.
void put(u64& to, u64 value) {
  __atomic_store_n(&to, value, __ATOMIC_RELAXED);
}

lengths_block* lengths_of(const void* object) {
  thread_block* const own = own_record();
  if (own == nullptr) return nullptr;
  const auto address = reinterpret_cast<u64>(object);
  return find<lengths_block>(
      *own, mixed(address + sizeof(lengths_block)), block_kind::lengths,
      [&](const lengths_block& each) { return each.object == address; },
      [&](lengths_block& made) { made.object = address; });
}

/// Keeps a random part of the samples (algorithm R).
void keep(u32 (&to)[kept_lengths], u64& seen, sampled_length sample) {
  const u64 place = seen < kept_lengths ? seen : mixed(mixed(seen) + sample.ticks) % (seen + 1);
  put(seen, seen + 1);
  if (place >= kept_lengths) return;
  const u32 bounded = static_cast<u32>(std::min<u64>(sample.ticks, disturbed - 1));
  __atomic_store_n(&to[place], bounded | (sample.is_disturbed ? disturbed : 0), __ATOMIC_RELAXED);
}

/// Keeps a long wait in place of the thread's oldest one.
void keep(thread_block& own, const finished_wait& wait, u32 holder) {
  u32& at = own.latest[is_owned(wait.kind) ? 0 : 1];
  if (at == 0) {
    auto* const made = allocate_block<waits_block>();
    if (made == nullptr) return;
    publish(made->head, block_kind::waits);
    at = offset_of(made);
  }
  auto& block = *at_offset<waits_block>(at);
  if (block.count % kept_waits == 0) note_name(own);
  long_wait& to = block.waits[block.count % kept_waits];
  // order[long_wait]: seq_cst; pairs [reader of the file]; a wait that is being written has no end.
  __atomic_store_n(&to.end, 0, __ATOMIC_SEQ_CST);
  to.begin = wait.begin;
  to.object = reinterpret_cast<u64>(wait.object);
  to.kind = static_cast<u32>(wait.kind);
  to.cause = static_cast<u32>(wait.cause);
  to.detail = wait.detail;
  to.others = wait.others;
  to.waiter = wait.waiter;
  to.holder = holder;
  to.tid = own.tid;
  to.holder_tid = wait.holder_tid;
  // order[long_wait]: release; pairs [reader of the file]; publishes the wait.
  __atomic_store_n(&to.end, wait.end, __ATOMIC_RELEASE);
  __atomic_store_n(&block.count, block.count + 1, __ATOMIC_RELAXED);
}

}  // namespace

lock_block* lock_entry(const void* object, object_kind kind) {
  thread_block* const own = own_record();
  if (own == nullptr) return nullptr;
  const auto address = reinterpret_cast<u64>(object);
  return find<lock_block>(
      *own, mixed(address + static_cast<u64>(kind)), block_kind::lock,
      [&](const lock_block& each) {
        return each.object == address && each.kind == static_cast<u32>(kind);
      },
      [&](lock_block& made) {
        made.object = address;
        made.kind = static_cast<u32>(kind);
        note_module(object);
      });
}

void add_wait(const finished_wait& wait, u32 holder) {
  thread_block* const own = own_record();
  lock_block* const lock = lock_entry(wait.object, wait.kind);
  if (lock == nullptr) return;
  const u64 length = wait.end - wait.begin;
  put(lock->waits, lock->waits + 1);
  put(lock->wait_ticks, lock->wait_ticks + length);
  put(lock->longest_ticks, std::max(lock->longest_ticks, length));
  put(lock->others_first, lock->others_first + wait.others);
  lock->acquisitions = std::max(lock->acquisitions, wait.acquisitions);
  ++lock->buckets[bucket_of(length)];
  const auto site = reinterpret_cast<u64>(wait.holder_site);
  const u64 hash =
      mixed(mixed(lock->object + wait.waiter) + (u64{holder} << 8) +
            static_cast<u64>(wait.cause) * 0x100000001 + static_cast<u64>(wait.detail));
  auto* const pair = find<pair_block>(
      *own, hash, block_kind::pair,
      [&](const pair_block& each) {
        return each.object == lock->object && each.kind == lock->kind &&
               each.waiter == wait.waiter && each.holder == holder &&
               each.cause == static_cast<u32>(wait.cause) && each.detail == wait.detail;
      },
      [&](pair_block& made) {
        made.object = lock->object;
        made.kind = lock->kind;
        made.cause = static_cast<u32>(wait.cause);
        made.waiter = wait.waiter;
        made.holder = holder;
        made.detail = wait.detail;
        made.holder_site = site;
      });
  if (pair == nullptr) return;
  put(pair->waits, pair->waits + 1);
  put(pair->wait_ticks, pair->wait_ticks + length);
  put(pair->longest_ticks, std::max(pair->longest_ticks, length));
  if (wait.cause != wait_cause::too_short) keep(*own, wait, holder);
  note_time_now_and_then(wait.end);
}

void add_hold(const void* object, const void* site, sampled_length hold) {
  lock_block* const lock = lock_entry(object, object_kind::mutex);
  if (lock == nullptr) return;
  put(lock->holds, lock->holds + 1);
  put(lock->hold_ticks, lock->hold_ticks + hold.ticks);
  if (lengths_block* const kept = lengths_of(object)) {
    keep(kept->hold_ticks, kept->holds, hold);
  }
  if (hold.ticks <= lock->longest_hold_ticks) return;
  put(lock->longest_hold_ticks, hold.ticks);
  put(lock->hold_site, reinterpret_cast<u64>(site));
  note_module(site);
}

void add_gap(const void* object, sampled_length gap) {
  if (lengths_block* const kept = lengths_of(object)) keep(kept->gap_ticks, kept->gaps, gap);
}

void add_wake(const void* object) {
  lock_block* const lock = lock_entry(object, object_kind::mutex);
  if (lock != nullptr) put(lock->wakes, lock->wakes + 1);
}

void add_failed_try(const void* object, object_kind kind) {
  lock_block* const lock = lock_entry(object, kind);
  if (lock != nullptr) put(lock->failed_tries, lock->failed_tries + 1);
}

void note_release(const void* object, release_note note) {
  stored_note& to = note_of(object);
  const u64 stack = note.stack | static_cast<u64>(note.mark) << 32;
  put(to.ticks, note.ticks);
  put(to.stack, stack);
  put(to.key, reinterpret_cast<u64>(object) ^ note.ticks ^ stack);
}

release_note last_release(const void* object) {
  const stored_note& from = note_of(object);
  const u64 at = __atomic_load_n(&from.ticks, __ATOMIC_RELAXED);
  const u64 stack = __atomic_load_n(&from.stack, __ATOMIC_RELAXED);
  const u64 key = __atomic_load_n(&from.key, __ATOMIC_RELAXED);
  if ((key ^ at ^ stack) != reinterpret_cast<u64>(object)) return {};
  return {at, static_cast<u32>(stack), static_cast<holder_mark>(stack >> 32)};
}

}  // namespace lockyard::preload::record
