// SPDX-License-Identifier: Apache-2.0
#pragma once

// The locks that the studies are compiled for: the catalogue's, or, if LOCKYARD_OWN_LOCKS is
// defined, the user's. The two have different names, because they are linked into one program.

#include <lockyard/concepts.hpp>
#include <lockyard/lock_traits.hpp>

// The largest headers are included only where they are needed.
#ifndef LOCKYARD_OWN_LOCKS
#include <peers/catalog.hpp>
#include <peers/libraries.hpp>
#endif

#include <string_view>
#include <utility>

namespace lockyard::harness {

#ifndef LOCKYARD_OWN_LOCKS

namespace catalogued {

template <class Lock>
inline constexpr bool is_shared = traits_of<Lock>().shared;
template <class Lock>
inline constexpr bool is_variant = traits_of<Lock>().kind == lock_kind::variant;
template <class Lock>
inline constexpr bool is_built = peers::is_built<Lock>;

}  // namespace catalogued
namespace measured = catalogued;

#else

namespace own {

template <class Lock>
inline constexpr bool is_shared = shared_lockable<Lock>;
template <class Lock>
inline constexpr bool is_variant = false;
template <class Lock>
inline constexpr bool is_built = true;

template <class Lock>
constexpr catalog_entry<Lock> entry_of(std::string_view name, std::string_view header) {
  return {{.name = name,
           .seed_name = "",
           .kind = lock_kind::user,
           .family = lock_family::none,
           .waiting = waiting::unknown,
           .fairness = fairness::none,
           .timed = timed_lockable<Lock>,
           .shared = shared_lockable<Lock>,
           .origin = header}};
}

/// Written by the command: calls `visit` with an entry for each lock.
template <class Visitor>
void for_each_lock(Visitor&& visit);

}  // namespace own
namespace measured = own;

#endif

}  // namespace lockyard::harness
