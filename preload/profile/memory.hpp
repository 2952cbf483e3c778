// SPDX-License-Identifier: Apache-2.0
#pragma once

// The file of this process: its mapping, the memory in it, and the record of each thread.

#include "../confinement.hpp"
#include "../glibc.hpp"
#include "layout.hpp"

namespace lockyard::preload::record {

/// The mapping of the file; null if there is none, and then nothing is recorded.
extern header* file;

/// Begins the file of this process, in the folder that LOCKYARD_RECORDS names.
void open_file();

/// After a fork, in the child: the file is the parent's.
void forget_file();

/// Gives back address space that a limit of so many bytes would count.
void fit_into(u64 limit);

/// Gives the file the memory that it has from now on: the process is about to confine itself.
void reserve_for_confinement();

/// Returns zeroed memory in the file, or null. Its kind is still none.
void* allocate(std::size_t bytes);

template <class Block>
Block* allocate_block() {
  return static_cast<Block*>(allocate(sizeof(Block)));
}

/// Makes a block visible to readers.
inline void publish(block& of, block_kind kind) {
  __atomic_store_n(&of.kind, static_cast<u32>(kind), __ATOMIC_RELEASE);
}

/// Returns the offset of what lies in the file, in units of 8 bytes.
inline u32 offset_of(const void* in_file) {
  return static_cast<u32>((static_cast<const char*>(in_file) - reinterpret_cast<char*>(file)) / 8);
}

template <class T>
T* at_offset(u32 offset) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(file) + u64{offset} * 8);
}

inline void count_lost() {
  if (file != nullptr) __atomic_fetch_add(&file->lost, 1, __ATOMIC_RELAXED);
}

/// Notes the time, from which the reader has the rate of the ticks.
void note_time();
void note_time_now_and_then(u64 now_ticks);

/// Writes the calling thread's name, which it may have changed, into its record.
void note_name(thread_block& of);

/// This thread records nothing from now on.
void end_record();

/// Returns this thread's record, or null if there is no memory, or after end_record().
thread_block* own_record();

/// Returns the record of a thread of this process, or null.
thread_block* record_of(u32 tid);

/// The records that have been made, and how many there are.
inline constexpr u32 most_records = 4096;
extern thread_block* records[most_records];
extern u32 records_used;

/// Calls `use` with the record of each thread of this process, until that returns true. Returns
/// whether it did.
bool any_record(auto use) {
  // order[records]: acquire; pairs [records]; the records that are counted are there.
  const u32 used = __atomic_load_n(&records_used, __ATOMIC_ACQUIRE);
  for (u32 i = 0; i < used && i < most_records; ++i) {
    // order[records]: acquire; pairs [records]; the fields of the record.
    const thread_block* const each = __atomic_load_n(&records[i], __ATOMIC_ACQUIRE);
    if (each != nullptr && __atomic_load_n(&each->tid, __ATOMIC_RELAXED) != 0 && use(*each)) {
      return true;
    }
  }
  return false;
}

/// Runs among the destructors of the thread's data with its record; the backend defines it.
void end_of_thread(void* record);

/// Runs end_of_thread() again in the next round of destructors, of which there are
/// PTHREAD_DESTRUCTOR_ITERATIONS.
void postpone_end_of_thread(void* record);

/// The end of this thread: its record is for the next.
void give_record_back(void* record);

/// Returns the calling thread's id.
inline u32 own_tid() {
  return static_cast<u32>(thread_id());
}

}  // namespace lockyard::preload::record
