// SPDX-License-Identifier: Apache-2.0
#pragma once

// Call stacks from the unwind tables that every program has, at some ten nanoseconds a frame once
// the frame's layout is known. Takes no lock, allocates no memory but in the file, and may be used
// in signal handlers.

#include "layout.hpp"

namespace lockyard::preload::record {

/// Returns the stack whose innermost call returns to `site`, as an offset in the file; 0 if there
/// is no memory for it.
u32 stack_from(const void* site);

/// Returns the stack that is only this call.
u32 stack_of(const void* site);

/// Notes the module that the address lies in, so that the reader can name it.
void note_module(const void* address);

/// A module was unloaded: layouts of its frames may be wrong from now on.
void forget_frames();

/// After a fork, in the child: the stacks and modules are in the parent's file.
void forget_stacks();

}  // namespace lockyard::preload::record
