// SPDX-License-Identifier: Apache-2.0
#pragma once

// The names of memory and of values in reports, from the list that the command has made of the
// module's debug information (src/lockyard/checks/members.py).

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace lockyard::plain {

/// Which accesses of a module's code the checker sees.
enum class account : std::uint8_t { unknown, partial, complete };

/// Reads the list of a module that was loaded at `base`; without a file there are no names. Returns
/// what the list says of the code.
account read_names(const std::string& path, std::uintptr_t base);
/// Whether some structure ends in an array that may be longer than its type says. True unless the
/// list says which there are.
bool has_longer_ends();
/// Says which lock or client the execution has, and the type of what a thread keeps while it holds
/// the lock; null if it keeps nothing.
void name_object_as(std::string_view entry, const char* held);

/// Empty for memory without a name.
std::string name_of_memory(const void* address);
/// A pointer to memory with a name is written as `&name`.
std::string text_of_value(std::uint64_t value, std::size_t size);

}  // namespace lockyard::plain
