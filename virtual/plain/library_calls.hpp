// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of functions of libraries that the checker does not know: whether one is made while there
// are other threads. Before the first thread begins, and after the last one has been joined, no
// order of steps depends on what such a function does.

#include <link.h>

#include <cstdint>
#include <string_view>

namespace lockyard::plain::library_calls {

enum class unseen {
  memory,  ///< it may use memory that other threads use
  state,   ///< it may also have a state of its own
};

/// Watches a function of a library that a module calls, or whose address it has in memory that it
/// only reads. Returns false if the module has the address elsewhere, if the name is the name of an
/// object, or on another processor. Calls of a function of streams do not count if they are made
/// for one of the standard streams.
bool watch(const link_map& module, std::string_view name, unseen what, bool is_of_streams);

/// The calls so far were made by the only thread.
void ignore();
/// The calls since then were made while there were other threads.
void count();
void begin_execution();

/// The number of such calls in all executions, by all threads.
std::uint32_t made_so_far(unseen what);
/// Whether such a call was made in this execution.
bool were_made(unseen what);

}  // namespace lockyard::plain::library_calls
