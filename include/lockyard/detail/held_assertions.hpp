// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/world/world.hpp>

#include <cstdint>
#include <optional>

namespace lockyard::inline v0::detail {

/// What is known of the thread that holds a lock.
enum class ownership : std::uint8_t {
  none,     ///< any thread may release the lock
  watched,  ///< one thread holds it, which a world may have watched
  known,    ///< the lock itself knows, and has the private member
            ///< `std::optional<bool> is_held_here() const`, nothing where it cannot tell
};

/// The assertions of a lock about the calling thread. A lock derives from
/// `held_assertions<itself, W>`; one whose ownership is known makes it a friend. Locks with
/// time-outs have the same from timed_lock. Empty: it adds no byte.
///
/// Effects of each: tells Clang's thread-safety analysis what it says. A world that watches locks
/// (the debug mode) reports the misuse `asserted_held` or `asserted_not_held` where it is not true.
/// In other worlds a lock that knows its owner ends the process with a message, and any other one
/// does nothing. Progress: wait-free, but for the watch.
template <class Lock, world W, ownership Known = ownership::watched>
class LOCKYARD_CAPABILITY held_assertions {
 public:
  /// The calling thread holds the lock.
  void assert_held() const noexcept LOCKYARD_ASSERT_HELD(this) {
    if constexpr (Known == ownership::none) return;
    if (W::expect_held(&self())) return;
    if constexpr (Known == ownership::known) {
      if (self().is_held_here() == false) [[unlikely]] {
        os::refuse(
            "assert_held() of a lock that the calling thread does not hold: what the lock protects "
            "may change meanwhile; lock it before");
      }
    }
  }

  /// The calling thread does not hold the lock in any way.
  void assert_not_held() const noexcept LOCKYARD_EXCLUDES(this) {
    if constexpr (Known == ownership::none) return;
    if (W::expect_not_held(&self())) return;
    if constexpr (Known == ownership::known) {
      if (self().is_held_here() == true) [[unlikely]] {
        os::refuse(
            "assert_not_held() of a lock that the calling thread holds: what follows may wait for "
            "itself, or find the data half changed; unlock it before");
      }
    }
  }

 private:
  [[nodiscard]] const Lock& self() const noexcept { return static_cast<const Lock&>(*this); }
};

}  // namespace lockyard::inline v0::detail
