// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a thread of a module's code goes on with: its registers and its stack. Two states that are
// the same have to look the same, so calls leave nothing on the stack.

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockyard::plain {

/// Overwrites what calls have left below the caller's frame, so that two states that are the same
/// look the same.
void clear_dead_stack();
/// Returns the value, and overwrites what the caller has left on the stack, if it does so last: the
/// compiler then jumps here. Otherwise the frame of the next function would not be the same in the
/// first turn of a loop as in the others.
template <class T>
[[gnu::noinline]] T without_traces(T value) {
  std::array<std::uint64_t, 16> dead;  // NOLINT(*-member-init): that is what follows
  for (std::uint64_t& each : dead) each = 0;
  asm volatile("" : : "r"(dead.data()) : "memory");
  return value;
}
/// Returns a hash of the thread's stack and of its registers.
std::uint64_t local_state();
/// Notes all that decides what the caller of a function does next, besides what that function does
/// and returns: the stack, with the registers that LOCKYARD_NOTE_CALLER has saved there. Nothing on
/// the stack may depend on the note.
void note_caller(const std::byte* frame);
#define LOCKYARD_NOTE_CALLER \
  (__builtin_unwind_init(),  \
   lockyard::plain::note_caller(static_cast<const std::byte*>(__builtin_frame_address(0))))

}  // namespace lockyard::plain
