// SPDX-License-Identifier: Apache-2.0

#include "order.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "machine.hpp"
#include "memory.hpp"

namespace lockyard::preload::record {
namespace {

constexpr u32 table_slots = 1 << 14, most_edges = table_slots / 2, most_gates = 6;
constexpr u32 many_threads = ~u32{0}, most_reported = 1024;

struct edge {
  ring_edge is;
  u32 gates_count = 0;
  u64 gates[most_gates] = {};  ///< mutexes that were held every time
};
constinit edge edges[table_slots] = {};
constinit u32 edges_used = 0;
constinit u64 reported[most_reported] = {};
constinit u32 reported_count = 0;
constinit int is_locked = 0;

class locked {
 public:
  locked() {
    // order[table]: acquire; pairs [table]; the holder before this one has written the table.
    while (__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE) != 0) kernel(__NR_sched_yield);
  }
  // order[table]: release; pairs [table]; publishes the table to the next holder.
  ~locked() { __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE); }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;
};

u64 hash_of(u64 from, u64 to) {
  const u64 mixed = (from * 31 + to) * 0x9e3779b97f4a7c15;
  return mixed ^ (mixed >> 32);
}

/// Returns the edge's slot, or the first free one behind it. `from` is written last.
edge& slot_of(u64 from, u64 to) {
  for (u64 i = hash_of(from, to);; ++i) {
    edge& each = edges[i % table_slots];
    // order[edge]: acquire; pairs [edge]; the fields of a slot that is in use are there.
    const u64 found = __atomic_load_n(&each.is.from, __ATOMIC_ACQUIRE);
    if (found == 0 || (found == from && each.is.to == to)) return each;
  }
}

bool is_held(const held_list& held, u64 object, u64 from) {
  if (object == from) return false;
  for (u32 i = 0; i < held.count; ++i) {
    if (held.locks[i].object == object) return true;
  }
  return false;
}

/// Whether all that is known of the edge stays true with this acquisition.
bool is_known(const edge& of, const held_list& held, u32 tid) {
  // relaxed(hint): the table's holder looks again.
  const u32 known = __atomic_load_n(&of.is.tid, __ATOMIC_RELAXED);
  if (known != tid && known != many_threads) return false;
  for (u32 i = 0; i < of.gates_count; ++i) {
    if (!is_held(held, of.gates[i], of.is.from)) return false;
  }
  return true;
}

void insert(edge& to, const held_lock& from, const held_list& held, const held_lock& next,
            u32 tid) {
  to.is.to = next.object;
  to.is.tid = tid;
  to.is.from_stack = from.stack;
  to.is.to_stack = next.stack;
  to.gates_count = 0;
  for (u32 i = 0; i < held.count && to.gates_count < most_gates; ++i) {
    if (held.locks[i].object != from.object) to.gates[to.gates_count++] = held.locks[i].object;
  }
  ++edges_used;
  // order[edge]: release; pairs [edge]; publishes the fields.
  __atomic_store_n(&to.is.from, from.object, __ATOMIC_RELEASE);
}

void widen(edge& of, const held_list& held, u32 tid) {
  if (of.is.tid != tid) __atomic_store_n(&of.is.tid, many_threads, __ATOMIC_RELAXED);
  u32 kept = 0;
  for (u32 i = 0; i < of.gates_count; ++i) {
    if (is_held(held, of.gates[i], of.is.from)) of.gates[kept++] = of.gates[i];
  }
  of.gates_count = kept;
}

bool could_deadlock(const edge* const* path, u32 count) {
  bool is_one_thread = path[0]->is.tid != many_threads;
  for (u32 i = 1; i < count; ++i)
    is_one_thread = is_one_thread && path[i]->is.tid == path[0]->is.tid;
  if (is_one_thread) return false;
  for (u32 i = 0; i < path[0]->gates_count; ++i) {
    const u64 gate = path[0]->gates[i];
    bool is_common = true;
    for (u32 k = 1; k < count; ++k) {
      const auto* const end = path[k]->gates + path[k]->gates_count;
      is_common = is_common && std::find(path[k]->gates, end, gate) != end;
    }
    if (is_common) return false;
  }
  return true;
}

/// Looks for a way from the end of the path back to its beginning.
bool close(const edge** path, u32& count) {
  const u64 at = path[count - 1]->is.to, goal = path[0]->is.from;
  for (const edge& each : edges) {
    if (each.is.from != at) continue;
    path[count++] = &each;
    if (each.is.to == goal) {
      if (could_deadlock(path, count)) return true;
    } else if (count < longest_ring && close(path, count)) {
      return true;
    }
    --count;
  }
  return false;
}

/// Whether a ring of these places in the program is new.
bool is_news(const edge* const* path, u32 count) {
  u64 sum = 0;
  for (u32 i = 0; i < count; ++i) sum += hash_of(path[i]->is.from_stack, path[i]->is.to_stack);
  const u32 known = std::min(reported_count, most_reported);
  if (std::find(reported, reported + known, sum) != reported + known) return false;
  if (known == most_reported) return false;
  reported[reported_count++] = sum;
  return true;
}

}  // namespace

ring note_order(const held_list& held, const held_lock& next, u32 tid) {
  ring found;
  for (u32 i = 0; i < held.count; ++i) {
    const held_lock& from = held.locks[i];
    if (from.object == next.object) continue;
    const edge& known = slot_of(from.object, next.object);
    if (known.is.from != 0 && is_known(known, held, tid)) continue;
    const locked table;
    edge& now = slot_of(from.object, next.object);
    if (now.is.from == 0) {
      if (edges_used >= most_edges) return count_lost(), found;
      insert(now, from, held, next, tid);
    } else {
      widen(now, held, tid);
    }
    const edge* path[longest_ring] = {&now};
    u32 count = 1;
    if (found.count != 0 || !close(path, count) || !is_news(path, count)) continue;
    found.count = count;
    for (u32 k = 0; k < count; ++k) found.edges[k] = path[k]->is;
  }
  return found;
}

void forget_order(u64 object) {
  if (edges_used == 0) return;
  const locked table;
  for (edge& each : edges) {
    // A slot stays in use, or searches would end there; no mutex has address 1.
    if (each.is.from != 0 && (each.is.from == object || each.is.to == object)) {
      each.is.to = 1;
      // relaxed(atomicity): a reader sees an edge of no mutex, or the one before.
      __atomic_store_n(&each.is.from, 1, __ATOMIC_RELAXED);
    }
  }
}

void forget_orders() {
  std::memset(static_cast<void*>(edges), 0, sizeof edges);
  edges_used = reported_count = 0;
  is_locked = 0;
}

}  // namespace lockyard::preload::record
