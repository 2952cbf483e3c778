// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the native world keeps what exists once: docs/decisions/0011-state-of-a-process.md.

namespace lockyard::inline v0::detail {

#if defined(LOCKYARD_SHARED_STATE)
// lockyard::state has the definitions, which Clang misses here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wundefined-var-template"
template <class T>
[[gnu::visibility("default")]] extern T process_instance;
#else
/// The one T of the process, if T has default visibility: GCC then gives it a unique symbol, which
/// the dynamic linker resolves to one object even for libraries loaded with RTLD_LOCAL.
template <class T>
[[gnu::visibility("default")]] inline constinit T process_instance{};
#endif

template <class T>
T& state_of_process() noexcept {
  return process_instance<T>;
}

#if defined(LOCKYARD_SHARED_STATE)
#pragma GCC diagnostic pop
#endif

/// The one T of the executable or shared library that this is compiled into, as thread-local state
/// may be.
template <class T>
[[gnu::visibility("hidden")]] inline constinit T library_instance{};

}  // namespace lockyard::inline v0::detail
