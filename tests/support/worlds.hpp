// SPDX-License-Identifier: Apache-2.0
#pragma once

// Worlds for tests. That the locks run in them unchanged is itself what the seam promises.

#include <lockyard/world/native.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

namespace lockyard::testing {

/// The real machine, with a count of the threads that have come to wait.
struct counting_world : native {
  using unwatched = native;
  static inline std::atomic<int> awaits{0};

  template <class... Arguments>
  static auto await(Arguments&&... arguments) noexcept {
    ++awaits;
    return native::await(std::forward<Arguments>(arguments)...);
  }
};

/// What a scripted world does and counts.
struct script {
  std::function<void()> on_wait;
  bool deadlines_pass = false;  ///< a sleep with a deadline ends by it
  int pauses = 0;
  int yields = 0;
  int waits = 0;
  int wakes = 0;
  std::uint32_t thread =
      1;  ///< the thread that the one thread plays, to a priority-inheritance word
};

/// One thread alone. Where it would wait, `on_wait` plays the others; it must change something
/// within a hundred calls, or the lock is taken to hang and the test ends by std::terminate.
struct scripted_world : derived_world<scripted_world, native> {
  using unwatched = native;
  static inline script now_playing;

  static void pause() noexcept { step(now_playing.pauses); }
  static void yield() noexcept { step(now_playing.yields); }

  static wait_result wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                          deadline limit = never) noexcept {
    if (word.load() != expected) return wait_result::changed;
    step(now_playing.waits);
    const bool times_out = limit != never && now_playing.deadlines_pass;
    return times_out ? wait_result::timed_out : wait_result::woken;
  }
  static std::uint32_t wake(const atomic<std::uint32_t>& /*word*/,
                            std::uint32_t /*count*/) noexcept {
    ++now_playing.wakes;
    return 1;
  }

  static void wake_each(const void* const* /*words*/, std::uint32_t count) noexcept {
    now_playing.wakes += static_cast<int>(count);
  }

  static std::uint32_t thread_id() noexcept { return now_playing.thread; }
  static bool pi_lock(atomic<std::uint32_t>& word, deadline limit = never) noexcept {
    while (word.load() != 0) {
      word.fetch_or(0x8000'0000);
      step(now_playing.waits);
      if (limit != never && now_playing.deadlines_pass) return false;
    }
    word.store(now_playing.thread);
    return true;
  }
  static void pi_unlock(atomic<std::uint32_t>& word) noexcept {
    ++now_playing.wakes;
    word.store(0);
  }

 private:
  static void step(int& count) noexcept {
    if (++count > 100) std::terminate();
    if (now_playing.on_wait) now_playing.on_wait();
  }
};

/// A world in which 32-bit words start so far from where they wrap around.
template <class World, std::uint32_t Distance>
struct near_edge : World {
  using unwatched = native;
  template <class T>
  struct atomic : std::atomic<T> {
    constexpr atomic() noexcept = default;
    constexpr atomic(T initial) noexcept : std::atomic<T>{moved(initial)} {}
    static constexpr T moved(T initial) noexcept {
      if constexpr (std::is_same_v<T, std::uint32_t>) return initial - Distance;
      return initial;
    }
  };
};

static_assert(world<counting_world>);
static_assert(world<scripted_world>);

}  // namespace lockyard::testing
