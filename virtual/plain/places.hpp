// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace lockyard::plain {

/// Returns the line of the user's source from which the code at a return address was made: of the
/// innermost function, inlined or a caller, that is not in a header of the system. The operation
/// becomes the column: the compiler may have made several copies of a line's operation, and a
/// change of its order concerns them all.
std::source_location place_of(const void* return_address, unsigned operation = 0);

/// Whether the code at a return address was made from a function of that name, which may be
/// inlined: in C++ a part of the name.
bool is_in_function(const void* return_address, std::string_view name);

/// Whether the code at a return address is a module's.
bool is_in_module(const void* return_address);

/// Tells place_of() where a module was loaded, and from which file.
void note_module(const char* path, std::uintptr_t base, std::size_t bytes);

}  // namespace lockyard::plain
