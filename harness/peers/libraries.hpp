// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which of the other libraries are there. CMake looks for them (CMakeLists.txt beside this file has
// their names and packages); a lock of one that is missing stays an incomplete type.

#include <lockyard/catalog.hpp>

#include <string>
#include <string_view>
#include <tuple>

namespace lockyard::inline v0::peers {

/// A library that lockyard can be built without.
struct library {
  std::string_view name;     ///< the `origin` of its locks in the catalogue
  std::string_view version;  ///< empty: it is missing
  std::string_view cause;    ///< why it is missing
  std::string_view remedy;
};

}  // namespace lockyard::inline v0::peers

#include <peers/found.hpp>

namespace lockyard::inline v0::peers {

/// The library that a lock needs beside those of the compiler; null if none.
constexpr const library* library_of(const lock_traits& lock) {
  if (lock.kind != lock_kind::peer) return nullptr;
  for (const library& each : libraries) {
    if (each.name == lock.origin) return &each;
  }
  return nullptr;
}

/// Whether a lock of the catalogue can be used, because its library is there.
template <class Lock>
inline constexpr bool is_built = [] {
  const library* const needed = library_of(std::get<catalog_entry<Lock>>(catalog).traits);
  return needed == nullptr || !needed->version.empty();
}();

/// In words for whoever wanted to measure a lock that is not built.
inline std::string why_missing(const library& of) {
  return std::string{of.name} + " is missing: " + std::string{of.cause} + "; " +
         std::string{of.remedy};
}

}  // namespace lockyard::inline v0::peers
