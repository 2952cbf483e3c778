// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/deadlines.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/world/world.hpp>

namespace lockyard::inline v0::detail {

/// The timed half of an event. An event derives from `timed_wait<itself, W>`, makes it a friend,
/// and has `bool try_wait()` and a private member `bool wait_by(typename W::deadline)`, which waits
/// and returns false if the deadline passed first. Empty: it adds no byte.
template <class Event, world W>
class timed_wait {
 public:
  /// Effects: waits for at least `duration` if it has to; returns whether the event let the caller
  /// through.
  /// Without a positive duration: as try_wait(). Measured by the steady clock.
  /// Synchronisation: as wait() if it returns true, none otherwise.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return self().try_wait() || wait_within<W>(duration, wait());
  }

  /// The same, until `Clock` has reached `limit`; see `wait_up_to` in deadlines.hpp.
  template <class Clock, class Duration>
  [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& limit) noexcept {
    return self().try_wait() || wait_up_to<W>(limit, wait());
  }

 private:
  Event& self() noexcept { return static_cast<Event&>(*this); }

  auto wait() noexcept {
    return [this](typename W::deadline limit) { return self().wait_by(limit); };
  }
};

}  // namespace lockyard::inline v0::detail
