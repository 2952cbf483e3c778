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

struct alignas(32) descriptor {
  u32 version, flags;
  const char* begin;
  u64 length;
  const char* abort;
};
static_assert(sizeof(descriptor) == 32);
descriptor mark{};

u64* place() {
  if (__rseq_size == 0) return nullptr;
  auto* const area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  return reinterpret_cast<u64*>(&reinterpret_cast<struct rseq*>(area)->rseq_cs);
}

[[gnu::constructor]] void begin() {
  mark = {0, 0, lockyard_mark_begin, static_cast<u64>(lockyard_mark_end - lockyard_mark_begin),
          lockyard_mark_abort};
}

}  // namespace

void set_mark() {
  u64* const at = place();
  // relaxed(owner): the thread and the kernel on its behalf write it.
  if (at == nullptr || mark.begin == nullptr || __atomic_load_n(at, __ATOMIC_RELAXED) != 0) return;
  // relaxed(owner): as above.
  __atomic_store_n(at, reinterpret_cast<u64>(&mark), __ATOMIC_RELAXED);
}

bool take_mark_off() {
  u64* const at = place();
  if (at == nullptr) return true;
  // relaxed(owner): as above.
  if (__atomic_load_n(at, __ATOMIC_RELAXED) != reinterpret_cast<u64>(&mark)) return false;
  // relaxed(owner): as above.
  __atomic_store_n(at, 0, __ATOMIC_RELAXED);
  return true;
}

}  // namespace lockyard::preload::record
