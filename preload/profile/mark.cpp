// SPDX-License-Identifier: Apache-2.0

#include "mark.hpp"

#include <linux/rseq.h>
#include <sys/rseq.h>

extern "C" {
extern const char lockyard_mark_begin[], lockyard_mark_end[], lockyard_mark_abort[];
}

namespace lockyard::preload::record {
namespace {

// The kernel ends a process whose descriptor has no signature before its abort address. No thread
// comes here, so no thread is in the sequence, and the kernel only removes the descriptor.
[[gnu::used, gnu::noinline]] void sequence() {
#if defined(__x86_64__)
  asm volatile(
      ".hidden lockyard_mark_begin; .hidden lockyard_mark_end; .hidden lockyard_mark_abort\n"
      ".globl lockyard_mark_begin; .globl lockyard_mark_end; .globl lockyard_mark_abort\n"
      "jmp 1f\n"
      ".long %c0\n"
      "lockyard_mark_abort: ud2\n"
      "lockyard_mark_begin: nop\n"
      "lockyard_mark_end: nop\n"
      "1:" ::"i"(RSEQ_SIG));
#else
  asm volatile(
      ".hidden lockyard_mark_begin; .hidden lockyard_mark_end; .hidden lockyard_mark_abort\n"
      ".globl lockyard_mark_begin; .globl lockyard_mark_end; .globl lockyard_mark_abort\n"
      "b 1f\n"
      ".inst %c0\n"
      "lockyard_mark_abort: brk #1\n"
      "lockyard_mark_begin: nop\n"
      "lockyard_mark_end: nop\n"
      "1:" ::"i"(RSEQ_SIG_CODE));
#endif
}

/// The place of the mark of a thread whose kernel or glibc has none: nothing wipes it out.
[[gnu::tls_model("initial-exec")]] constinit thread_local u64 unwiped = 0;

u64* place() {
  if (__rseq_size == 0) return &unwiped;
  auto* const area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  return reinterpret_cast<u64*>(&reinterpret_cast<struct rseq*>(area)->rseq_cs);
}

[[gnu::constructor]] void begin() {
  mark_sequence = {0, 0, lockyard_mark_begin,
                   static_cast<u64>(lockyard_mark_end - lockyard_mark_begin), lockyard_mark_abort};
}

}  // namespace

constinit mark_descriptor mark_sequence{};
constinit thread_local marked_thread marked{};

[[gnu::noinline]] u32 renew_mark() {
  if (mark_sequence.begin == nullptr) return marked.wiped;
  if (marked.place == nullptr) marked.place = place();
  u64* const at = marked.place;
  // relaxed(owner): the thread and the kernel on its behalf write it.
  if (__atomic_load_n(at, __ATOMIC_RELAXED) == 0) {
    // relaxed(owner): as above.
    __atomic_store_n(at, reinterpret_cast<u64>(&mark_sequence), __ATOMIC_RELAXED);
  }
  return ++marked.wiped;
}

}  // namespace lockyard::preload::record
