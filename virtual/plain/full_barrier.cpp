// SPDX-License-Identifier: Apache-2.0

// An instruction that is a full barrier, as inline assembly: the command puts a call in its place
// (src/lockyard/checks/assembly.py). The compiler does not know of the call, so it must leave each
// register as it is.

#include "program.hpp"
#include "spins.hpp"
#include "wrapped.hpp"

namespace lockyard::plain {

namespace {

extern "C" [[gnu::used]] void lockyard_full_barrier_at(const void* pc) {
  if (!is_active()) return;
  worker::mine().loop().fence();
  now().fence(std::memory_order_seq_cst, place_of(pc));
}

}  // namespace

}  // namespace lockyard::plain

#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .globl lockyard_full_barrier
  .type lockyard_full_barrier, @function
lockyard_full_barrier:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushfq
  pushq %rax
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  subq $512, %rsp
  andq $-16, %rsp
  fxsave64 (%rsp)
  cld
  movq 8(%rbp), %rdi
  call lockyard_full_barrier_at
  fxrstor64 (%rsp)
  leaq -80(%rbp), %rsp
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdi
  popq %rsi
  popq %rdx
  popq %rcx
  popq %rax
  popfq
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size lockyard_full_barrier, .-lockyard_full_barrier
)");
#endif
