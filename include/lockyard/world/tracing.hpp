// SPDX-License-Identifier: Apache-2.0
#pragma once

// The real machine, with a stamp at every acquisition, release, yield, sleep and wake. The stamps
// explain long stalls afterwards: docs/tracing.md.

#include <lockyard/world/native.hpp>
#include <lockyard/world/spinning.hpp>
#include <lockyard/world/trace_rings.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace lockyard::inline v0 {

/// As native, with stamps for yields, sleeps and wakes, but not for acquisitions: the world of the
/// state that locks share.
struct [[gnu::visibility("default")]] tracing_waits : derived_world<tracing_waits, native> {
  struct name_in_key {
    using world = tracing_waits;
    static constexpr std::string_view text = "tracing_waits";
  };

  static void pause() noexcept {
    trace::detail::count_pause();
    native::pause();
  }

  static void yield() noexcept {
    const span stamps{trace::event_kind::yield_begin, trace::event_kind::yield_end};
    native::yield();
  }

  static wait_result wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                          deadline limit = never) noexcept {
    const span stamps{trace::event_kind::sleep_begin, trace::event_kind::sleep_end, of(limit)};
    return native::wait(word, expected, limit);
  }
  static std::uint32_t wake(const atomic<std::uint32_t>& word, std::uint32_t count) noexcept {
    const span stamps{trace::event_kind::wake_begin, trace::event_kind::wake_end, count};
    return native::wake(word, count);
  }
  static void wake_each(const void* const* words, std::uint32_t count) noexcept {
    const span stamps{trace::event_kind::wake_begin, trace::event_kind::wake_end, count};
    native::wake_each(words, count);
  }
  static std::optional<std::uint32_t> requeue(const atomic<std::uint32_t>& from,
                                              std::uint32_t expected, std::uint32_t wake_count,
                                              std::uint32_t move_count,
                                              const atomic<std::uint32_t>& to) noexcept {
    const span stamps{trace::event_kind::wake_begin, trace::event_kind::wake_end, wake_count};
    return native::requeue(from, expected, wake_count, move_count, to);
  }
  static bool pi_lock(atomic<std::uint32_t>& word) noexcept {
    const span stamps{trace::event_kind::sleep_begin, trace::event_kind::sleep_end, of(never)};
    return native::pi_lock(word);
  }
  static bool pi_lock(atomic<std::uint32_t>& word, deadline limit) noexcept {
    const span stamps{trace::event_kind::sleep_begin, trace::event_kind::sleep_end, of(limit)};
    return native::pi_lock(word, limit);
  }
  static void pi_unlock(atomic<std::uint32_t>& word) noexcept {
    const span stamps{trace::event_kind::wake_begin, trace::event_kind::wake_end, 1};
    native::pi_unlock(word);
  }

 private:
  /// Stamps at both ends of a scope.
  class span {
   public:
    explicit span(trace::event_kind begin, trace::event_kind end,
                  std::uint64_t argument = 0) noexcept
        : end_{end} {
      trace::detail::stamp(begin, nullptr, argument);
    }
    span(const span&) = delete;
    span& operator=(const span&) = delete;
    ~span() { trace::detail::stamp(end_, nullptr, 0); }

   private:
    trace::event_kind end_;
  };

  /// 0 if there is no deadline.
  static std::uint64_t of(deadline limit) noexcept {
    if (limit == never) return 0;
    return static_cast<std::uint64_t>(limit.time_since_epoch().count());
  }
};

/// As tracing_waits, with stamps for acquisitions and releases too. Locks have the same layout as
/// in native, but other types. A recursive lock opens its scopes only for the outermost
/// acquisition.
struct [[gnu::visibility("default")]] tracing : tracing_waits {
  using unwatched = tracing_waits;

  class acquiring {
   public:
    explicit acquiring(const void* lock, detail::sanitizer::attempt kind =
                                             detail::sanitizer::attempt::blocking) noexcept
        : lock_{called(lock, kind)}, kind_{kind}, native_{lock, kind} {}
    acquiring(const acquiring&) = delete;
    acquiring& operator=(const acquiring&) = delete;
    // Settled, because an early stamp could precede the release for which this acquisition waited.
    ~acquiring() {
      using enum trace::event_kind;
      trace::detail::stamp(acquired_ ? acquired : failed, lock_,
                           trace::detail::attempt_with_pauses(static_cast<std::uint64_t>(kind_)),
                           trace::detail::reading::settled);
    }
    bool result(bool acquired) noexcept { return acquired_ = native_.result(acquired); }

   private:
    static const void* called(const void* lock, detail::sanitizer::attempt kind) noexcept {
      trace::detail::stamp(trace::event_kind::called, lock, static_cast<std::uint64_t>(kind));
      return lock;
    }

    const void* lock_;
    detail::sanitizer::attempt kind_;
    bool acquired_ = true;
    native::acquiring native_;
  };

  class releasing {
   public:
    explicit releasing(const void* lock, detail::sanitizer::attempt kind =
                                             detail::sanitizer::attempt::blocking) noexcept
        : lock_{lock}, kind_{kind}, native_{begun(lock, kind), kind} {}
    releasing(const releasing&) = delete;
    releasing& operator=(const releasing&) = delete;
    ~releasing() {
      trace::detail::stamp(trace::event_kind::released, lock_, static_cast<std::uint64_t>(kind_));
    }

   private:
    static const void* begun(const void* lock, detail::sanitizer::attempt kind) noexcept {
      trace::detail::stamp(trace::event_kind::releasing, lock, static_cast<std::uint64_t>(kind));
      return lock;
    }

    const void* lock_;
    detail::sanitizer::attempt kind_;
    native::releasing native_;
  };
};

static_assert(world<tracing_waits>);
static_assert(world<tracing>);

}  // namespace lockyard::inline v0
