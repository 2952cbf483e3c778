// SPDX-License-Identifier: Apache-2.0
#pragma once

// The real machine, watched: the default world of every lock where LOCKYARD_DEBUG is defined.

#include <lockyard/debug.hpp>
#include <lockyard/world/lock_watch.hpp>
#include <lockyard/world/native.hpp>
#include <lockyard/world/world.hpp>

#include <algorithm>
#include <string_view>

namespace lockyard::inline v0 {

namespace debug::detail {

/// Returns the type as the compiler writes it; works without run-time type information.
template <class T>
constexpr std::string_view type_name() noexcept {
  constexpr std::string_view function =
      __PRETTY_FUNCTION__;  // "... T = type]", "... T = type; ..."
  constexpr auto begin = function.find("T = ") + 4;
  constexpr auto end = std::min(function.find(';', begin), function.size() - 1);
  return function.substr(begin, end - begin);
}

}  // namespace debug::detail

/// As native, and watches every acquisition, release and destruction of a lock. Locks have the same
/// layout as in native, but other types: translation units that disagree about LOCKYARD_DEBUG share
/// no class of locks. A recursive lock opens its scopes only for the outermost acquisition.
struct [[gnu::visibility("default")]] debugging : native {
  using unwatched = native;

  /// A lock's first member has the lock's address, so the member's destruction marks the lock's
  /// destruction; the lock needs no destructor for this, and has none in native.
  template <class T>
  class atomic : public native::atomic<T> {
   public:
    using native::atomic<T>::atomic;
    constexpr atomic() noexcept = default;
    ~atomic() { watch().destroyed(this); }
  };
  template <class T>
  class var : public native::var<T> {
   public:
    using native::var<T>::var;
    constexpr var() noexcept = default;
    ~var() { watch().destroyed(this); }
  };

  class acquiring {
   public:
    // Inlined, so that the watch's caller is the lock or the function into which it is inlined.
    template <class Lock>
    [[gnu::always_inline]] explicit acquiring(
        const Lock* lock,
        detail::sanitizer::attempt kind = detail::sanitizer::attempt::blocking) noexcept
        : watched_{watch().before_acquire({lock, debug::detail::type_name<Lock>()}, kind)},
          native_{lock, kind} {}
    acquiring(const acquiring&) = delete;
    acquiring& operator=(const acquiring&) = delete;
    ~acquiring() { watch().after_acquire(watched_, acquired_); }
    bool result(bool acquired) noexcept { return acquired_ = native_.result(acquired); }

   private:
    debug::detail::attempt watched_;
    native::acquiring native_;
    bool acquired_ = true;
  };

  class releasing {
   public:
    template <class Lock>
    [[gnu::always_inline]] explicit releasing(
        const Lock* lock,
        detail::sanitizer::attempt kind = detail::sanitizer::attempt::blocking) noexcept
        : native_{watched(lock, kind), kind} {}

   private:
    template <class Lock>
    [[gnu::always_inline]] static const Lock* watched(const Lock* lock,
                                                      detail::sanitizer::attempt kind) noexcept {
      watch().before_release({lock, debug::detail::type_name<Lock>()}, kind);
      return lock;
    }

    native::releasing native_;
  };

  template <class Lock>
  [[gnu::always_inline]] static bool expect_held(
      const Lock* lock,
      detail::sanitizer::attempt kind = detail::sanitizer::attempt::blocking) noexcept {
    watch().expect_held({lock, debug::detail::type_name<Lock>()}, kind);
    return true;
  }
  template <class Lock>
  [[gnu::always_inline]] static bool expect_not_held(const Lock* lock) noexcept {
    watch().expect_not_held({lock, debug::detail::type_name<Lock>()});
    return true;
  }

 private:
  static debug::detail::lock_watch& watch() noexcept {
    return process_state<debug::detail::lock_watch>();
  }
};

static_assert(world<debugging>);

}  // namespace lockyard::inline v0
