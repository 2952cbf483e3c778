// SPDX-License-Identifier: Apache-2.0
#pragma once

// The catalogue as types for typed tests.

#include <gtest/gtest.h>
#include <peers/catalog.hpp>
#include <peers/controls.hpp>

#include <cctype>
#include <string>
#include <tuple>
#include <type_traits>

namespace lockyard::testing {

using harness::catalogued::for_each_lock;
using harness::catalogued::traits_of;

template <class Lock>
inline constexpr bool is_ours = traits_of<Lock>().kind == lock_kind::ours;

/// Ours, and the controls that exclude other threads, as they claim. The peers have tests of their
/// own, because their libraries may be missing.
template <class Lock>
inline constexpr bool is_sound = [] {
  if constexpr (traits_of<Lock>().kind == lock_kind::control) {
    return !std::is_base_of_v<controls::null_lock, Lock> && traits_of<Lock>().excludes;
  }
  return is_ours<Lock>;
}();

namespace detail {
template <template <class> class Select, class Catalog>
struct selected;
template <template <class> class Select, class... Locks>
struct selected<Select, std::tuple<catalog_entry<Locks>...>> {
  using tuple = decltype(std::tuple_cat(
      std::conditional_t<Select<Locks>::value, std::tuple<std::type_identity<Locks>>,
                         std::tuple<>>{}...));
};
template <class Tuple>
struct as_types;
template <class... Locks>
struct as_types<std::tuple<std::type_identity<Locks>...>> {
  using type = ::testing::Types<Locks...>;
};
template <class Lock>
struct sound : std::bool_constant<is_sound<Lock>> {};
template <class Lock>
struct owned : std::bool_constant<is_ours<Lock> && traits_of<Lock>().owned> {};
template <class Lock>
struct timed : std::bool_constant<traits_of<Lock>().timed> {};
template <template <class> class Select>
using types = typename as_types<typename selected<
    Select, std::remove_const_t<decltype(harness::catalogued::all)>>::tuple>::type;
}  // namespace detail

using sound_locks = detail::types<detail::sound>;
/// Ours that know, or could know, that one thread holds them.
using owned_locks = detail::types<detail::owned>;
using timed_locks = detail::types<detail::timed>;

/// Names a typed test after its catalogue entry.
struct catalog_name {
  template <class Lock>
  static std::string GetName(int /*index*/) {
    std::string name{traits_of<Lock>().name};
    for (char& c : name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    return name;
  }
};

}  // namespace lockyard::testing
