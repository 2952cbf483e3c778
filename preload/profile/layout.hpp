// SPDX-License-Identifier: Apache-2.0
#pragma once

// The records of a profiled process, as they lie in its file. The process writes them through a
// shared mapping, so they outlive it however it ends, and are readable at any time.
// src/lockyard/field_kit/records.py reads them; a change of the layout changes the version.
//
// The file is a header and then blocks, one behind the other. A block begins with its kind and its
// size. The size is written first, the kind last: a block of kind 0 is not complete yet.

#include <cstddef>
#include <cstdint>

namespace lockyard::preload::record {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

inline constexpr u32 layout_version = 3;
inline constexpr std::size_t header_bytes = 4096;

struct header {
  char magic[8];  ///< "LKYDREC"
  u32 version;
  u32 pid;
  u32 parent;
  u32 is_complete;  ///< 1 once the other fields are written
  u64 start_ticks;
  u64 start_ns;      ///< CLOCK_MONOTONIC at start_ticks
  u64 latest_ticks;  ///< with latest_ns, gives the rate of the ticks
  u64 latest_ns;
  u64 start_realtime_ns;
  u64 used;           ///< bytes of the file that blocks occupy, the header included
  u64 reserved;       ///< bytes of the file that have memory
  u64 lost;           ///< events that found no room: no memory, or a full index
  u64 threads;        ///< threads that have had a record
  char program[512];  ///< the path of the executable
};
static_assert(sizeof(header) <= header_bytes);

enum class block_kind : u32 { none, thread, lock, pair, stack, module, event, lengths, waits };

struct block {
  u32 kind;
  u32 size;
};

enum class object_kind : u32 {
  mutex,
  condition,
  reading,
  writing,
  semaphore,
  barrier,
  spinlock,
  once,
  foreign_futex,
  join,  ///< the end of a thread, for the guard
};

/// Whether a thread has the object while others wait for it; others wait for an event.
constexpr bool is_owned(object_kind kind) {
  return kind == object_kind::mutex || kind == object_kind::reading ||
         kind == object_kind::writing || kind == object_kind::spinlock || kind == object_kind::once;
}

/// The cause of a long wait. The reader knows them by these numbers.
enum class wait_cause : u32 {
  too_short,      ///< below the limit from which causes are looked for
  unknown,        ///< no evidence
  holder_ran,     ///< a long section
  holder_queued,  ///< the holder had lost its processor
  holder_asleep,  ///< the holder was blocked; detail: the number of its system call, or -1
  others_first,   ///< other threads had the lock in between
  woken_late,     ///< the lock was free for most of the time
  event_came,     ///< no lock: the thread was woken soon after the event that it waited for
};

/// What the holder's mark says of a hold: whether the holder kept its processor.
enum class holder_mark : u32 { unknown, kept, wiped };

inline constexpr std::size_t index_slots = 4096;
inline constexpr std::size_t stack_depth = 12;
inline constexpr std::size_t histogram_buckets = 160;

struct thread_block {
  block head;
  u32 number;  ///< in the order of their creation, from 1
  u32 tid;     ///< 0: free to be taken over by another thread
  char name[16];
  u64 waits_for;  ///< the object that the thread waits for now, or 0
  u64 waits_since;
  u64 waits_at;    ///< the address behind the call
  u32 waits_kind;  ///< object_kind
  u32 is_timed;
  u32 waits_stack;
  u32 latest_tid;  ///< the thread that has the name, which may have ended
  u32 latest[2];   ///< offsets of the blocks with the latest long waits: for owners, for events
  u32 index[index_slots];  ///< offsets in the file, in units of 8 bytes, of lock and pair blocks
};

struct lock_block {
  block head;
  u64 object;
  u32 kind;
  u32 acquisitions;  ///< by all threads, as the mutex's own counter last said
  u64 waits;
  u64 wait_ticks;
  u64 longest_ticks;
  u64 others_first;  ///< acquisitions by other threads during the waits
  u64 failed_tries;
  u64 wakes;  ///< releases while threads waited, each with a futex call
  u64 holds;  ///< sampled ones
  u64 hold_ticks;
  u64 longest_hold_ticks;
  u64 hold_site;                   ///< the address behind the call that began the longest hold
  u32 buckets[histogram_buckets];  ///< waiting times, four buckets to each power of two
};

inline constexpr std::size_t kept_lengths = 128;
inline constexpr u32 disturbed = u32{1} << 31;  ///< the thread lost its processor meanwhile

/// Sampled holds and gaps of one thread with one mutex, each with the same chance to be kept.
struct lengths_block {
  block head;
  u64 object;
  u64 holds, gaps;  ///< how many there were
  u32 hold_ticks[kept_lengths], gap_ticks[kept_lengths];
};

inline constexpr std::size_t kept_waits = 256;

/// A wait that lasted long enough for its cause to be looked for.
struct long_wait {
  u64 begin, end;  ///< ticks; an end of 0: being written
  u64 object;
  u32 kind, cause;
  std::int32_t detail;
  u32 others;
  u32 waiter, holder;  ///< stacks, as in pair_block
  u32 tid, holder_tid;
};

/// The latest long waits of one thread: `count` is how many there were.
struct waits_block {
  block head;
  u32 count, unused;
  long_wait waits[kept_waits];
};

struct pair_block {
  block head;
  u64 object;
  u32 kind;
  u32 cause;
  u32 waiter;  ///< offset of the stack in units of 8 bytes
  u32 holder;  ///< the same, of the thread that held, signalled or posted; 0: unknown
  std::int32_t detail;
  u32 unused;
  u64 waits;
  u64 wait_ticks;
  u64 longest_ticks;
  u64 holder_site;  ///< the address behind the call by which the holder acquired
};

struct stack_block {
  block head;
  u32 next;  ///< offset of the next one with the same hash, in units of 8 bytes
  u32 count;
  u64 frames[stack_depth];
};

struct module_block {
  block head;
  u64 begin, end;
  u64 shift;  ///< from addresses of the file to addresses of the process
  char path[488];
};

enum class event_kind : u32 {
  none,
  deadlock,
  self_deadlock,
  order,
  long_hold,
  stranger,
  destroyed_in_use,
  forgotten,
};

inline constexpr std::size_t event_parties = 8;

/// A finding of the guard.
struct event_block {
  block head;
  u32 what;   ///< event_kind
  u32 count;  ///< of parties
  u64 ticks;
  u64 begin_ticks;  ///< when the call began that found it, or the hold
  struct party {
    u32 tid;
    u32 stack;    ///< where the thread waits or locks; 0: unknown
    u64 object;   ///< what it waits for, or locks
    u64 held_at;  ///< the address behind the call by which the next party, the owner, locked it
    u32 held_stack;
    u32 is_timed;
  } parties[event_parties];
};

}  // namespace lockyard::preload::record
