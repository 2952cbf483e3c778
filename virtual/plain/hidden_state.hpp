// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a module calls of libraries, whose code the checker does not see.

#include <link.h>

namespace lockyard::plain {

/// Whether a module calls functions of libraries that are neither the checker's nor known to use no
/// memory that other threads may use. The checker does not see the accesses of such a function.
bool calls_unknown_functions(const ElfW(Dyn) * dynamic);

/// Whether a module calls functions of libraries that the checker neither replaces nor knows. Such
/// a function may use memory that other threads use, and keep a state of its own.
bool may_hide_state(const ElfW(Dyn) * dynamic);

/// Has the calls of these functions watched (library_calls.hpp), and returns whether the module
/// uses some in other ways. To be called before the module's variables are copied.
struct unknown_functions {
  bool may_use_memory = false;  ///< that other threads use
  bool may_hide_state = false;
};
unknown_functions watch_unknown_functions(const link_map& module);

/// Whether a module calls std::atomic_signal_fence().
bool has_signal_fences(const ElfW(Dyn) * dynamic);

/// Whether the destructors of a module's static objects may run once in each execution: static
/// initialisation has left nothing in a library that they could give back.
bool may_end_statics(const ElfW(Dyn) * dynamic);

/// Whether a module asks whether a lock of the C library is free, by an attempt to take it.
bool asks_for_locks(const ElfW(Dyn) * dynamic);

/// Whether several threads may own one exception of a module. The last one that gives it up runs
/// its destructor, and only the library knows which one that is.
bool shares_exceptions(const ElfW(Dyn) * dynamic);

}  // namespace lockyard::plain
