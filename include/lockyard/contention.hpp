// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/world/contention_hook.hpp>

namespace lockyard::inline v0 {

/// Has `hook` called for each wait for a lock that ends from now on; null ends that. Returns the
/// hook before. Waits under way keep the one with which they began, so a hook must stay callable.
/// Every sleeping lock of the library reports its waits, by lock(), lock_shared() and the timed
/// functions; spinlocks do not. Without a hook a wait costs one load more, and an acquisition that
/// does not wait nothing.
/// Synchronisation: what was done before happens before each call of the hook. Progress: wait-free.
/// Source: Abseil's RegisterMutexProfiler.
inline contention_hook set_contention_hook(contention_hook hook) noexcept {
  auto& state = detail::state_of_process<detail::contention_hook_state>();
  // order[set]: acq_rel; pairs [contention_hook.hpp:hook, set]; publishes what the hook uses.
  return state.is.exchange(hook, std::memory_order_acq_rel);
}

}  // namespace lockyard::inline v0
