// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a tool's world may substitute inside a lock. Other worlds need none of it.

#include <cstdint>

namespace lockyard::inline v0::detail {

template <class W>
struct world_of_shared_state {
  using type = W;
};
template <class W>
  requires requires { typename W::unwatched; }
struct world_of_shared_state<W> {
  using type = typename W::unwatched;
};

/// The world of the state that locks share, such as the parking lot. A world that watches locks
/// names another one, `W::unwatched`, because its tool must not see into that state.
template <class W>
using unwatched = typename world_of_shared_state<W>::type;

template <class W, class Lock>
struct lock_inside {
  using type = Lock;
};
template <class W, class Lock>
  requires requires { typename W::template inner_lock<Lock>; }
struct lock_inside<W, Lock> {
  using type = typename W::template inner_lock<Lock>;
};

/// `Lock`, for use inside another lock. A checker's world substitutes an abstract lock,
/// `W::inner_lock<Lock>`, because Lock is checked separately.
template <class W, class Lock>
using inner_lock = typename lock_inside<W, Lock>::type;

/// The number of sleeps that a thread ends before it lets other threads have the bucket lock. A
/// checker's world substitutes a small number, `W::wake_batch`, so that few threads reach the code
/// behind the first batch.
template <class W>
inline constexpr std::uint32_t wake_batch = 16;
template <class W>
  requires requires { W::wake_batch; }
inline constexpr std::uint32_t wake_batch<W> = W::wake_batch;

}  // namespace lockyard::inline v0::detail
