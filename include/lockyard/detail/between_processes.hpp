// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/bounds.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/detail/os/robust_list.hpp>
#include <lockyard/world/native.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// How shared_memory_mutex waits for threads of other processes, and how the kernel learns which
/// mutexes a thread holds. Virtual worlds have one process, whose threads do not end early.
template <world W>
struct between_processes {
  struct link {};

  /// Says that the mutex of this link is about to be acquired or released, until `end`.
  static void begin(link& /*mutex*/) noexcept {}
  static void end() noexcept {}
  static void add(link& /*mutex*/) noexcept {}
  static void remove(link& /*mutex*/) noexcept {}

  /// Sleeps while the word holds `expected`, at most until the deadline or for `most`.
  static void wait(const atomic<W, std::uint32_t>& word, std::uint32_t expected,
                   typename W::deadline limit, std::chrono::nanoseconds /*most*/) noexcept {
    W::wait(word, expected, limit);
  }
  static void wake(const atomic<W, std::uint32_t>& word) noexcept { W::wake(word, 1); }
};

template <world W>
  requires std::derived_from<W, native>
struct between_processes<W> : os::robust_list {
  using link = os::robust_link;

  static void wait(const atomic<W, std::uint32_t>& word, std::uint32_t expected,
                   typename W::deadline limit, std::chrono::nanoseconds most) noexcept {
    const auto look = native::deadline_after(most).end_of_sleep();
    const timespec end = native::to_timespec(at_most(limit.end_of_sleep(), look));
    os::futex_wait_shared(&word, expected, &end);
  }
  static void wake(const atomic<W, std::uint32_t>& word) noexcept { os::futex_wake_shared(&word); }
};

}  // namespace lockyard::inline v0::detail
