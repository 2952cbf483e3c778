// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/world/world.hpp>

#include <cstdint>
#include <optional>

namespace lockyard::inline v0::detail {

/// The knowledge about the thread that holds a lock.
enum class ownership : std::uint8_t {
  none,     ///< any thread may release the lock
  watched,  ///< one thread holds it, and a world may have recorded which
  known,    ///< the lock itself knows its owner, and has the private member
            ///< `std::optional<bool> is_held_here() const`, empty where the lock cannot tell
};

/// The assertions of a lock about the calling thread. A lock derives from
/// `held_assertions<itself, W>`; one whose ownership is known makes it a friend. Locks with
/// time-outs have the same from timed_lock. Empty: it adds no byte.
///
/// Effects of each assertion: states it to Clang's thread-safety analysis. A world that watches
/// locks (the debug mode) reports a false assertion as the misuse `asserted_held` or
/// `asserted_not_held`. In other worlds a false assertion ends the process with a message if the
/// lock knows its owner, and does nothing otherwise. Progress: wait-free, except for the watch.
template <class Lock, world W, ownership Known = ownership::watched>
class LOCKYARD_CAPABILITY held_assertions {
 public:
  /// Asserts that the calling thread holds the lock.
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

  /// Asserts that the calling thread does not hold the lock in any way.
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
