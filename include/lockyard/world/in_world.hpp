// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/world/world.hpp>

namespace lockyard::inline v0 {

namespace detail {
template <class Lock>
struct world_of;
template <template <world, auto...> class Basic, world W, auto... Parameters>
struct world_of<Basic<W, Parameters...>> {
  using type = W;
};

template <class Lock, class World>
struct in_world;
template <template <world, auto...> class Basic, world From, auto... Parameters, world To>
struct in_world<Basic<From, Parameters...>, To> {
  using type = Basic<To, Parameters...>;
};
}  // namespace detail

/// The world of a lock's instantiation.
template <class Lock>
using world_of_t = typename detail::world_of<Lock>::type;

/// The same lock, instantiated for another world.
template <class Lock, world World>
using in_world_t = typename detail::in_world<Lock, World>::type;

}  // namespace lockyard::inline v0
