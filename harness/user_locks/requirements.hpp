// SPDX-License-Identifier: Apache-2.0
#pragma once

// The requirements on a class that is to be measured as a lock, with a sentence for each. The
// command shows the first that is not met; docs/my_lock.md lists them.

#include <lockyard/concepts.hpp>
#include <lockyard/detail/arch.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace lockyard::harness::own {

template <class Type>
concept can_lock = requires(Type& lock) { lock.lock(); };
template <class Type>
concept can_unlock = requires(Type& lock) { lock.unlock(); };
/// A class with try_lock must mean the standard's.
template <class Type>
concept tries_as_locks_do = lockable<Type> || !requires { &Type::try_lock; };
/// The space in a page for a lock that may begin anywhere in another page.
inline constexpr std::size_t largest_lock = 3968;
template <class Type>
concept fits_its_place =
    sizeof(Type) <= largest_lock && alignof(Type) <= detail::arch::interference_size;

template <class Type>
constexpr void require_lock() {
  static_assert(std::is_class_v<Type>, "it is not a class");
  static_assert(can_lock<Type>, "it has no lock() that can be called without arguments");
  static_assert(can_unlock<Type>, "it has no unlock() that can be called without arguments");
  static_assert(!can_lock<Type> || !can_unlock<Type> || basic_lockable<Type>,
                "it does not meet the concept lockyard::basic_lockable");
  static_assert(tries_as_locks_do<Type>,
                "its try_lock() does not return a bool that says whether it acquired the lock");
  static_assert(std::is_default_constructible_v<Type>,
                "it has no constructor without arguments; measure a class derived from it that has "
                "one");
  static_assert(std::is_destructible_v<Type>, "it cannot be destroyed");
  static_assert(fits_its_place<Type>, "it is larger than 3968 bytes, or aligned to more than 128");
}

/// Calls functions that would otherwise be compiled only inside the studies.
template <class Type>
void use_as_lock(Type& lock) {
  if constexpr (basic_lockable<Type>) {
    lock.lock();
    lock.unlock();
  }
  if constexpr (lockable<Type>) {
    if (lock.try_lock()) lock.unlock();
  }
  if constexpr (shared_lockable<Type>) {
    lock.lock_shared();
    lock.unlock_shared();
    if (lock.try_lock_shared()) lock.unlock_shared();
  }
}

}  // namespace lockyard::harness::own
