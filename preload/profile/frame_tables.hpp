// SPDX-License-Identifier: Apache-2.0
#pragma once

// The unwind tables of a module (.eh_frame_hdr, .eh_frame), read for the registers that a walk
// needs: where the caller's frame begins, and where it left its frame pointer and return address.

#include "layout.hpp"

namespace lockyard::preload::record {

#if defined(__x86_64__)
inline constexpr u32 frame_register = 6, stack_register = 7, return_register = 16;
#else
inline constexpr u32 frame_register = 29, stack_register = 31, return_register = 30;
#endif

/// How the caller's frame is found from a place in the code. Offsets are from the canonical frame
/// address, in words of 8 bytes; the canonical frame address is a register and an offset in bytes.
struct frame_rule {
  bool is_known = false;
  bool is_from_frame_pointer = false;
  std::int32_t cfa_bytes = 0;
  std::int16_t return_words = 0;  ///< 0: undefined, which ends the stack
  std::int16_t frame_words = 0;   ///< 0: the frame pointer is the caller's
};

/// Returns the rule for code at `address`, of the module with these unwind tables.
frame_rule rule_at(const void* eh_frame_hdr, std::uintptr_t address);

}  // namespace lockyard::preload::record
