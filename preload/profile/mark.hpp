// SPDX-License-Identifier: Apache-2.0
#pragma once

// A mark that the kernel wipes out when the thread loses its processor, or handles a signal: the
// descriptor of a restartable sequence in which the thread never is. Needs no system call.

#include "layout.hpp"

namespace lockyard::preload::record {

struct alignas(32) mark_descriptor {
  u32 version, flags;
  const char* begin;
  u64 length;
  const char* abort;
};
static_assert(sizeof(mark_descriptor) == 32);
extern mark_descriptor mark_sequence;

/// The place of this thread's mark, null until it is known, and how often it was found wiped out.
struct marked_thread {
  u64* place = nullptr;
  u32 wiped = 0;
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local marked_thread marked;

/// Sets the mark again, unless the thread is in a restartable sequence of the program's.
u32 renew_mark();

/// Returns a number that changes when the calling thread loses its processor. Where the kernel or
/// glibc has no marks, it never changes.
inline u32 interruptions() {
  // relaxed(owner): the thread and the kernel on its behalf write it.
  if (marked.place == nullptr || __atomic_load_n(marked.place, __ATOMIC_RELAXED) !=
                                     reinterpret_cast<u64>(&mark_sequence)) [[unlikely]]
    return renew_mark();
  return marked.wiped;
}

}  // namespace lockyard::preload::record
