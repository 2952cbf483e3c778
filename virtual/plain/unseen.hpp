// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the graph of an execution does not decide, because the checker keeps no account of it
// (decision 0079). The search leaves out no order of steps of code that does such things.

#include <link.h>

#include <cstdint>

namespace lockyard::plain {

/// Whether a module calls functions of libraries that are neither the checker's nor known to use no
/// memory that other threads may use. The checker does not see the accesses of such a function.
bool calls_unknown_functions(const ElfW(Dyn) * dynamic);

/// A use of memory. What a thread finds on the stack of another one, or in its errno, depends on
/// what the owner has called since.
void note_foreign_use(std::uintptr_t at);

/// The checker itself reads or writes memory that the code has given to a call. Unless the memory
/// is in the caller's own stack, other threads may use it too, unseen.
void note_unseen_use(const volatile void* at);

}  // namespace lockyard::plain
