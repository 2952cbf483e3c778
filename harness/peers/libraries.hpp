// SPDX-License-Identifier: Apache-2.0
#pragma once

// The other libraries that this build has. CMake looks for them (CMakeLists.txt next to this file
// has their names and packages); a lock of a missing library stays an incomplete type.

#include <peers/catalog.hpp>

#include <string>
#include <string_view>

namespace lockyard::inline v0::peers {

/// A library that lockyard can be built without.
struct library {
  std::string_view name;     ///< the `origin` of its locks in the catalogue
  std::string_view version;  ///< empty if it is missing
  std::string_view cause;    ///< why it is missing
  std::string_view remedy;
};

}  // namespace lockyard::inline v0::peers

#include <peers/found.hpp>

namespace lockyard::inline v0::peers {

/// Returns the library that a lock needs besides the compiler's; null if none.
constexpr const library* library_of(const lock_traits& lock) {
  if (lock.kind != lock_kind::peer) return nullptr;
  for (const library& each : libraries) {
    if (each.name == lock.origin) return &each;
  }
  return nullptr;
}

/// Tells whether a lock of the catalogue can be used, because its library is built in.
template <class Lock>
inline constexpr bool is_built = [] {
  const library* const needed = library_of(harness::catalogued::traits_of<Lock>());
  return needed == nullptr || !needed->version.empty();
}();

/// Returns a message for the user about a lock that is not built.
inline std::string why_missing(const library& of) {
  return std::string{of.name} + " is missing: " + std::string{of.cause} + "; " +
         std::string{of.remedy};
}

}  // namespace lockyard::inline v0::peers
