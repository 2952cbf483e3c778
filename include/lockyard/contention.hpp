// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/world/contention_hook.hpp>

namespace lockyard::inline v0 {

/// Calls `hook` for each wait for a lock that begins from now on, when the wait ends; null removes
/// the hook. Returns the previous hook. A wait in progress keeps the hook with which it began, so a
/// hook must stay callable. Every sleeping lock of the library reports its waits in lock(),
/// lock_shared() and the timed functions; spinlocks do not. Without a hook a wait costs two
/// more loads, and an acquisition that does not wait costs nothing extra.
/// Synchronisation: everything done before happens before each call of the hook. Progress:
/// wait-free.
/// Source: Abseil's RegisterMutexProfiler.
inline contention_hook set_contention_hook(contention_hook hook) noexcept {
  auto& state = detail::state_of_process<detail::contention_hook_state>();
  // order[set]: acq_rel; pairs [contention_hook.hpp:hook, set]; publishes what the hook uses.
  return state.is.exchange(hook, std::memory_order_acq_rel);
}

}  // namespace lockyard::inline v0
