// SPDX-License-Identifier: Apache-2.0

#include "order.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "machine.hpp"
#include "memory.hpp"

namespace lockyard::preload::record {
namespace {

constexpr u32 most_edges = 1 << 13, heads = 1 << 12, most_gates = 6;
constexpr u32 many_threads = ~u32{0}, most_reported = 1024;
constexpr u32 longest_unlocked_search = 64;

/// In three lists, by the numbers of edges, which begin with 1: of the edges with the same mutexes,
/// from the same mutex, and to the same one. The table's holder writes.
struct edge {
  ring_edge is;
  u32 gates_count = 0;
  u64 gates[most_gates] = {};  ///< mutexes that were held every time
  u32 next_same = 0, next_from = 0, next_to = 0;
};
constinit edge edges[most_edges + 1] = {};
constinit u32 same[heads] = {}, leaving[heads] = {}, arriving[heads] = {};
constinit u32 edges_used = 0;
constinit u32 unused = 0;  ///< the edges of forgotten mutexes, by next_same
constinit u64 reported[most_reported] = {};
constinit u32 reported_count = 0;
constinit int is_locked = 0;

class locked {
 public:
  locked() {
    // order[table]: acquire; pairs [table]; the holder before this one has written the table.
    while (__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE) != 0) yield();
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

u32& head_in(u32 (&lists)[heads], u64 from, u64 to) {
  return lists[hash_of(from, to) % heads];
}

/// Returns the edge, or null. Without the table's lock it may be an edge that another thread
/// removes or replaces meanwhile, and the search may fail.
edge* edge_of(u64 from, u64 to, u32 most) {
  // order[edge]: acquire; pairs [edge]; the fields of an edge that is in a list are there.
  u32 at = __atomic_load_n(&head_in(same, from, to), __ATOMIC_ACQUIRE);
  for (; at != 0 && most-- > 0; at = __atomic_load_n(&edges[at].next_same, __ATOMIC_RELAXED)) {
    if (edges[at].is.from == from && edges[at].is.to == to) return &edges[at];
  }
  return nullptr;
}

void enter(u32& list, u32 edge::*next, u32 number) {
  edges[number].*next = list;
  // order[edge]: release; pairs [edge]; publishes the fields.
  __atomic_store_n(&list, number, __ATOMIC_RELEASE);
}

void leave(u32& list, u32 edge::*next, u32 number) {
  u32* at = &list;
  while (*at != number) at = &(edges[*at].*next);
  // relaxed(hint): a search without the lock may miss an edge, and then looks again with it.
  __atomic_store_n(at, edges[number].*next, __ATOMIC_RELAXED);
}

/// Returns the number of an edge in no list, or 0.
u32 unused_edge() {
  if (unused == 0) return edges_used < most_edges ? ++edges_used : 0;
  const u32 number = unused;
  unused = edges[number].next_same;
  return number;
}

void remove(u32 number) {
  edge& of = edges[number];
  leave(head_in(same, of.is.from, of.is.to), &edge::next_same, number);
  leave(head_in(leaving, of.is.from, 0), &edge::next_from, number);
  leave(head_in(arriving, 0, of.is.to), &edge::next_to, number);
  of.is.from = of.is.to = 0;
  of.next_same = unused;
  unused = number;
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

void insert(u32 number, const held_lock& from, const held_list& held, const held_lock& next,
            u32 tid) {
  edge& to = edges[number];
  to.is = {from.object, next.object, tid, from.stack, next.stack};
  to.gates_count = 0;
  for (u32 i = 0; i < held.count && to.gates_count < most_gates; ++i) {
    if (held.locks[i].object != from.object) to.gates[to.gates_count++] = held.locks[i].object;
  }
  enter(head_in(same, from.object, next.object), &edge::next_same, number);
  enter(head_in(leaving, from.object, 0), &edge::next_from, number);
  enter(head_in(arriving, 0, next.object), &edge::next_to, number);
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
  for (u32 i = head_in(leaving, at, 0); i != 0; i = edges[i].next_from) {
    const edge& each = edges[i];
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
    const edge* const known = edge_of(from.object, next.object, longest_unlocked_search);
    if (known != nullptr && is_known(*known, held, tid)) continue;
    const locked table;
    edge* now = edge_of(from.object, next.object, most_edges);
    if (now == nullptr) {
      const u32 number = unused_edge();
      if (number == 0) return count_lost(), found;
      now = &edges[number];
      insert(number, from, held, next, tid);
    } else {
      widen(*now, held, tid);
    }
    const edge* path[longest_ring] = {now};
    u32 count = 1;
    if (found.count != 0 || !close(path, count) || !is_news(path, count)) continue;
    found.count = count;
    for (u32 k = 0; k < count; ++k) found.edges[k] = path[k]->is;
  }
  return found;
}

void forget_order(u64 object) {
  u32& from = head_in(leaving, object, 0);
  u32& to = head_in(arriving, 0, object);
  // relaxed(owner): threads that use the mutex at once are after its first use, or ordered by it.
  if (__atomic_load_n(&from, __ATOMIC_RELAXED) == 0 && __atomic_load_n(&to, __ATOMIC_RELAXED) == 0)
    return;
  const locked table;
  for (u32 i = from, next = 0; i != 0; i = next) {
    next = edges[i].next_from;
    if (edges[i].is.from == object) remove(i);
  }
  for (u32 i = to, next = 0; i != 0; i = next) {
    next = edges[i].next_to;
    if (edges[i].is.to == object) remove(i);
  }
}

void forget_orders() {
  std::memset(static_cast<void*>(edges), 0, sizeof edges);
  for (auto* const lists : {&same, &leaving, &arriving}) std::memset(*lists, 0, sizeof *lists);
  edges_used = unused = reported_count = 0;
  is_locked = 0;
}

}  // namespace lockyard::preload::record
