// SPDX-License-Identifier: Apache-2.0

// What the code that calls the checker goes on with: the registers that a call preserves, the place
// that it returns to, and its stack. All else that it knows lies in memory.

#include "execution.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace lockyard::model {

void execution::note_caller(const std::uint64_t* saved) noexcept {
  calling_code& caller = me().caller;
  std::copy_n(saved, caller.registers.size(), caller.registers.begin());
  caller.stack = reinterpret_cast<const std::byte*>(saved + caller.registers.size());
}

extern "C" [[gnu::used]] execution* lockyard_model_note_caller(
    const std::uint64_t* saved) noexcept {
  execution* const now = execution::current();
  now->note_caller(saved);
  return now;
}

/// Clears what the call has left: it would lie in unused parts of later frames, and make states
/// differ that are the same.
extern "C" [[gnu::used, gnu::noinline]] void lockyard_model_leave() noexcept {
  std::array<std::byte, 1024> dead;  // NOLINT(*-member-init): that is what follows
  explicit_bzero(dead.data(), dead.size());
}

}  // namespace lockyard::model

#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .globl lockyard_model_enter
  .type lockyard_model_enter, @function
lockyard_model_enter:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  pushq %r12
  .cfi_adjust_cfa_offset 8
  pushq %r13
  .cfi_adjust_cfa_offset 8
  pushq %r14
  .cfi_adjust_cfa_offset 8
  pushq %r15
  .cfi_adjust_cfa_offset 8
  movq %rsp, %rdi
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call lockyard_model_note_caller
  addq $56, %rsp
  .cfi_adjust_cfa_offset -56
  ret
  .cfi_endproc
  .size lockyard_model_enter, .-lockyard_model_enter
)");
#endif
