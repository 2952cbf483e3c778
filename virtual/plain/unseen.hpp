// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the graph of an execution does not decide, because the checker keeps no account of it
// (decision 0080). The search leaves out no order of steps of code that does such things.

#include <cstddef>
#include <cstdint>

namespace lockyard::plain {

/// The running thread has used memory, or a state, that the checker does not see.
void note_unseen();

/// A use of memory. What a thread finds on the stack of another one depends on what the owner has
/// called since, unless it knows of the call; what it finds in errno always does.
void note_foreign_use(std::uintptr_t at);

/// A use of the value of memory that nothing has written, as far as is known. On the stack of
/// another thread it depends on what the owner has done since.
void note_unwritten(std::uintptr_t at);

/// Memory changes. Its owner may compare its stack with what it was before.
void note_foreign_change(std::uintptr_t at, std::size_t size);

}  // namespace lockyard::plain
