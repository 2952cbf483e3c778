// SPDX-License-Identifier: Apache-2.0

#include "wait_graph.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "../glibc.hpp"
#include "memory.hpp"

namespace lockyard::preload::record {
namespace {

constexpr u32 most_lists = 4096;
constinit held_list* lists[most_lists] = {};
[[gnu::tls_model("initial-exec")]] constinit thread_local held_list* own_held = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local u32 own_held_number = 0;

held_list* list_of(const thread_block* of) {
  if (of == nullptr || of->number > most_lists) return nullptr;
  return __atomic_load_n(&lists[of->number - 1], __ATOMIC_ACQUIRE);
}

/// Calls `use` with each thread whose list `fits`, until that returns true. Returns whether it did.
bool any_thread(auto fits, auto use) {
  return any_record([&](const thread_block& each) {
    const held_list* const list = list_of(&each);
    return list != nullptr && fits(*list) && use(each.tid);
  });
}

u32 writer_of(u64 rwlock) {
  constexpr std::size_t writer_at = 24;
  const auto* const at = reinterpret_cast<const std::int32_t*>(rwlock + writer_at);
  // order[guard]: seq_cst; pairs [guard]; of two threads that close a ring, one sees the other.
  return static_cast<u32>(__atomic_load_n(at, __ATOMIC_SEQ_CST));
}

bool reads(const held_list& list, u64 rwlock) {
  // order[guard]: seq_cst; pairs [guard]; as above.
  const u32 count = __atomic_load_n(&list.rwlock_count, __ATOMIC_SEQ_CST);
  return find(list.rwlocks, std::min(count, most_rwlocks), rwlock) != nullptr;
}

/// Calls `use` with each thread that the wait depends on, until that returns true.
bool any_holder(const link_seen& wait, auto use) {
  switch (wait.kind) {
    case object_kind::mutex: {
      const u32 owner = owner_of(wait.object);
      return owner != 0 && use(owner);
    }
    case object_kind::reading:
    case object_kind::writing: {
      const u32 writer = writer_of(wait.object);
      // glibc answers a writer that wants its own lock.
      if (writer != 0) return writer != wait.tid && use(writer);
      return wait.kind == object_kind::writing &&
             any_thread([&](const held_list& each) { return reads(each, wait.object); }, use);
    }
    case object_kind::join:
      return any_thread([&](const held_list& each) { return each.handle == wait.object; }, use);
    default: return false;
  }
}

/// Adds the wait of `at` to the path, and those behind it, if they lead to the first thread.
bool leads_back(chain& path, const thread_block* at) {
  if (at == nullptr || path.count == event_parties) return false;
  link_seen& link = path.links[path.count];
  link = {};
  // order[guard]: seq_cst; pairs [guard]; as above.
  link.object = __atomic_load_n(&at->waits_for, __ATOMIC_SEQ_CST);
  if (link.object == 0) return false;
  link.kind = static_cast<object_kind>(at->waits_kind);
  link.tid = at->tid;
  link.since = __atomic_load_n(&at->waits_since, __ATOMIC_RELAXED);
  link.is_timed = at->is_timed != 0;
  link.at = at->waits_at;
  link.stack = at->waits_stack;
  const u32 depth = ++path.count;
  const bool is_found = any_holder(link, [&](u32 holder) {
    if (holder == path.links[0].tid) return true;
    for (u32 i = 0; i < depth; ++i) {
      if (path.links[i].tid == holder) return false;
    }
    return leads_back(path, record_of(holder));
  });
  if (!is_found) path.count = depth - 1;
  return is_found;
}

}  // namespace

held_list* own_list() {
  thread_block* const own = own_record();
  if (own == nullptr || own->number > most_lists) return nullptr;
  if (own_held != nullptr && own_held_number == own->number) return own_held;
  held_list* found = list_of(own);
  if (found == nullptr) {
    // A block without a kind, which readers skip.
    auto* const memory = static_cast<char*>(allocate(sizeof(block) + sizeof(held_list)));
    if (memory == nullptr) return nullptr;
    found = reinterpret_cast<held_list*>(memory + sizeof(block));
    __atomic_store_n(&lists[own->number - 1], found, __ATOMIC_RELEASE);
  }
  found->count = found->rwlock_count = 0;  // an ended thread may have left locks here
  found->handle = static_cast<u64>(pthread_self());
  own_held = found;
  own_held_number = own->number;
  return found;
}

void forget_lists() {
  own_held = nullptr;
  std::memset(lists, 0, sizeof lists);
}

const held_lock* find(const held_lock* locks, u32 count, u64 object) {
  for (u32 i = 0; i < count; ++i) {
    if (locks[i].object == object) return &locks[i];
  }
  return nullptr;
}

const held_lock* held_by(u32 tid, u64 object) {
  const held_list* const list = list_of(record_of(tid));
  if (list == nullptr) return nullptr;
  const held_lock* const mutex = find(list->locks, std::min(list->count, most_held), object);
  if (mutex != nullptr) return mutex;
  return find(list->rwlocks, std::min(list->rwlock_count, most_rwlocks), object);
}

u32 owner_of(u64 mutex) {
  auto& layout = layout_of(reinterpret_cast<pthread_mutex_t*>(mutex));
  // order[guard]: seq_cst; pairs [guard]; of two threads that close a ring, one sees the other.
  return static_cast<u32>(__atomic_load_n(&layout.owner, __ATOMIC_SEQ_CST));
}

chain follow(const thread_block& from) {
  chain found;
  found.is_ring = leads_back(found, &from);
  return found;
}

}  // namespace lockyard::preload::record
