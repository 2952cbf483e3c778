// SPDX-License-Identifier: Apache-2.0
#pragma once

// The real machine. Every member inlines to the same code as handwritten code;
// docs/decisions/0001-the-seam.md shows the disassembly.

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/bounds.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/detail/sanitizer.hpp>
#include <lockyard/world/asymmetric_fence.hpp>
#include <lockyard/world/calibration.hpp>
#include <lockyard/world/contention_hook.hpp>
#include <lockyard/world/fork_epoch.hpp>
#include <lockyard/world/native_deadline.hpp>
#include <lockyard/world/process_state.hpp>
#include <lockyard/world/spinning.hpp>
#include <lockyard/world/thread_keys.hpp>
#include <lockyard/world/thread_slots.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace lockyard::inline v0 {

namespace detail {

/// A thread's copy of its id in the system. A forked child's thread has another id.
struct [[gnu::visibility("default")]] thread_id_memory {
  std::uint32_t id = 0;
  std::uint32_t epoch = 0;  ///< the fork epoch in which the id was read; 0: not read yet
};

/// A generator good enough to break ties (xorshift32, Marsaglia 2003).
struct [[gnu::visibility("default")]] xorshift {
  std::uint32_t state = 0;

  std::uint32_t next() noexcept {
    state ^= state << 13U;
    state ^= state >> 17U;
    state ^= state << 5U;
    return state;
  }
};

}  // namespace detail

/// The real machine as a world; awaits come from spinning. See the concept `world` for the meaning
/// of each member.
struct [[gnu::visibility("default")]] native : spinning<native> {
  /// The name by which parts of a program recognise this world, even from different compilers.
  struct name_in_key {
    using world = native;
    static constexpr std::string_view text = "native";
  };

  template <class T>
  using atomic = std::atomic<T>;

  template <class T>
  class var {
   public:
    constexpr var() noexcept = default;
    constexpr explicit var(T value) noexcept : value_{std::move(value)} {}
    [[nodiscard]] const T& read() const noexcept { return value_; }
    void write(T value) noexcept { value_ = std::move(value); }

   private:
    T value_{};
  };

  static void fence(std::memory_order order) noexcept { std::atomic_thread_fence(order); }

  static void asymmetric_fence_light() noexcept {
    process_state<detail::asymmetric_fence>().light();
  }
  static bool asymmetric_fence_heavy() noexcept {
    return process_state<detail::asymmetric_fence>().heavy();
  }
  static bool asymmetric_fence_register() noexcept {
    return process_state<detail::asymmetric_fence>().register_process();
  }
  /// States that asymmetric_fence_register() has returned true, and that the caller has seen it.
  struct registered_t {};
  static constexpr registered_t registered{};
  static void asymmetric_fence_light(registered_t /*tag*/) noexcept {
    detail::asymmetric_fence::light_when_registered();
  }

  static void pause() noexcept { detail::arch::pause(); }
  static void yield() noexcept { detail::os::yield(); }

  using time_point = std::chrono::steady_clock::time_point;
  using deadline = detail::native_deadline;
  static constexpr deadline never{deadline::max()};

  static time_point now() noexcept { return std::chrono::steady_clock::now(); }
  static deadline deadline_after(std::chrono::nanoseconds duration) noexcept {
    return deadline::after(duration);
  }
  static deadline deadline_at(const adjustable_limit& limit,
                              std::chrono::nanoseconds left) noexcept {
    return {deadline::after(left), limit};
  }
  static bool passed(deadline limit) noexcept { return limit.has_passed(); }

  static deadline spin_limit(
      std::chrono::nanoseconds most = std::chrono::nanoseconds::max()) noexcept {
    const std::chrono::nanoseconds budget = process_state<detail::calibration>().spin_budget();
    return now() + detail::at_most(budget, most);
  }
  static std::uint32_t pauses_in(std::chrono::nanoseconds length) noexcept {
    return process_state<detail::calibration>().pauses_in(length);
  }

  /// The kernel's clock starts with 0.
  static timespec to_timespec(time_point limit) noexcept {
    const auto since_boot = detail::at_least<std::int64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(limit.time_since_epoch()).count(), 0);
    return {.tv_sec = since_boot / 1'000'000'000, .tv_nsec = since_boot % 1'000'000'000};
  }

  using wait_result = detail::os::wait_result;

  static wait_result wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                          deadline limit = never) noexcept {
    if (limit == never) return detail::os::futex_wait(&word, expected, nullptr);
    const timespec absolute = to_timespec(limit.end_of_sleep());
    const wait_result how = detail::os::futex_wait(&word, expected, &absolute);
    return how == wait_result::timed_out && limit.is_early() ? wait_result::woken : how;
  }
  static std::uint32_t wake(const atomic<std::uint32_t>& word, std::uint32_t count) noexcept {
    return detail::os::futex_wake(&word, count);
  }
  static void wake_each(const void* const* words, std::uint32_t count) noexcept {
    detail::os::futex_wake_each(words, count);
  }
  static std::optional<std::uint32_t> requeue(const atomic<std::uint32_t>& from,
                                              std::uint32_t expected, std::uint32_t wake_count,
                                              std::uint32_t move_count,
                                              const atomic<std::uint32_t>& to) noexcept {
    return detail::os::futex_requeue(&from, expected, wake_count, move_count, &to);
  }

  static std::uintptr_t thread_key() noexcept {
    const std::uintptr_t known = detail::key_of_this_thread.key;
    return known != 0 ? known : detail::learn_thread_key();
  }

  static std::uint32_t thread_id() noexcept {
    const auto& known = thread_state<detail::thread_id_memory>();
    // relaxed(owner): the forking thread's own fork wipes it; other threads of a child have no id
    // from before.
    const auto now = process_state<detail::fork_epoch>().now.load(std::memory_order_relaxed);
    return known.epoch != 0 && known.epoch == now ? known.id : find_thread_id();
  }
  static bool is_real_time() noexcept { return detail::os::is_real_time(); }
  static bool pi_lock(atomic<std::uint32_t>& word) noexcept { return pi_lock_until(word, nullptr); }
  /// With a limit, even one that never passes, the wait goes on in a ring of waits.
  static bool pi_lock(atomic<std::uint32_t>& word, deadline limit) noexcept {
    for (;;) {
      const timespec absolute = to_timespec(limit.end_of_sleep());
      if (pi_lock_until(word, &absolute)) return true;
      if (!limit.is_early()) return false;
    }
  }
  static void pi_unlock(atomic<std::uint32_t>& word) noexcept {
    // ThreadSanitizer does not see that the kernel's hand-off is a release.
    // order[hand_over]: release; pairs [handed]; replaces the kernel's release.
    if constexpr (detail::sanitizer::under_tsan) word.fetch_or(0, std::memory_order_release);
    detail::os::futex_unlock_pi(&word);
  }

  template <class T>
  static T& thread_state() noexcept {
    static constinit thread_local T state{};
    return state;
  }
  template <class T>
  static T& process_state() noexcept {
    return detail::state_of_process<T>();
  }
  template <class T>
  static const T& process_state_to_look_at() noexcept {
    return detail::state_to_look_at<T>();
  }
  static constexpr std::uint32_t slot_count = detail::slot_registry::capacity;

  static std::uint32_t thread_slot() noexcept {
    auto& memory = thread_state<detail::slot_memory>();
    if (!memory.asked) [[unlikely]] {
      memory.asked = true;
      auto& registry = process_state<detail::slot_registry>();
      memory.slot = registry.claim();
      auto& guard = thread_state<detail::slot_guard>();
      guard.registry = &registry;
      guard.memory = &memory;
    }
    return memory.slot;
  }
  static std::uint32_t numa_node() noexcept { return detail::os::numa_node(); }
  /// Fibonacci hashing: the upper bits are the well mixed bits.
  static std::uint64_t hash(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) * 0x9E37'79B9'7F4A'7C15U;
  }
  /// Runs before main, or when the library that needs it is loaded: registration for barriers is
  /// fast in a process that has no other threads.
  template <class State>
  struct at_start {
    at_start() noexcept {
      process_state<detail::calibration>().count_processors();
      asymmetric_fence_register();
      if constexpr (forgets<State>) {
        std::uint32_t none = 0;
        // relaxed(atomicity): the first part that is loaded has no state to forget.
        epoch_of<State>().compare_exchange_strong(none, detail::current_fork_epoch(),
                                                  std::memory_order_relaxed,
                                                  std::memory_order_relaxed);
        if (!detail::os::call_in_forked_child([] { catch_up(); })) {
          detail::os::fatal("pthread_atfork", ENOMEM);
        }
      }
    }
    template <class... Arguments>
    static void catch_up(Arguments... arguments) noexcept {
      const std::uint32_t now = detail::current_fork_epoch();
      // relaxed(owner): a child that has not caught up yet has one thread.
      std::uint32_t last = epoch_of<State>().load(std::memory_order_relaxed);
      // relaxed(atomicity): the call is made once.
      if (last != 0 && last != now &&
          epoch_of<State>().compare_exchange_strong(last, now, std::memory_order_relaxed,
                                                    std::memory_order_relaxed)) {
        State::forget_in_child(arguments...);
      }
    }
  };

  static constexpr std::size_t table_size = 1024;

  static std::uint32_t random() noexcept {
    auto& generator = thread_state<detail::xorshift>();
    if (generator.state == 0) [[unlikely]] {
      const auto moment = static_cast<std::uint64_t>(now().time_since_epoch().count());
      generator.state =
          static_cast<std::uint32_t>((hash(&generator) ^ moment * 0x9E37'79B9U) >> 32U) | 1U;
    }
    return generator.next();
  }

  static constexpr auto trying = detail::sanitizer::attempt::trying;
  static constexpr auto sharing = detail::sanitizer::attempt::sharing;
  static constexpr auto trying_to_share = detail::sanitizer::attempt::trying_to_share;

  class acquiring {
   public:
    explicit acquiring(const void* lock, detail::sanitizer::attempt kind =
                                             detail::sanitizer::attempt::blocking) noexcept
        : lock_{lock}, kind_{kind} {
      detail::sanitizer::before_acquire(lock_, kind_);
    }
    acquiring(const acquiring&) = delete;
    acquiring& operator=(const acquiring&) = delete;
    ~acquiring() { detail::sanitizer::after_acquire(lock_, kind_, acquired_); }
    bool result(bool acquired) noexcept { return acquired_ = acquired; }

   private:
    const void* lock_;
    detail::sanitizer::attempt kind_;
    bool acquired_ = true;
  };

  using contended = detail::contended_wait;

  class releasing {
   public:
    explicit releasing(const void* lock, detail::sanitizer::attempt kind =
                                             detail::sanitizer::attempt::blocking) noexcept
        : lock_{lock}, kind_{kind} {
      detail::sanitizer::before_release(lock_, kind_);
    }
    releasing(const releasing&) = delete;
    releasing& operator=(const releasing&) = delete;
    ~releasing() { detail::sanitizer::after_release(lock_, kind_); }

   private:
    const void* lock_;
    detail::sanitizer::attempt kind_;
  };

  class notifying {
   public:
    explicit notifying(const void* lock) noexcept : lock_{lock} {
      detail::sanitizer::before_notify(lock_);
    }
    notifying(const notifying&) = delete;
    notifying& operator=(const notifying&) = delete;
    ~notifying() { detail::sanitizer::after_notify(lock_); }

   private:
    const void* lock_;
  };

  static bool expect_held(const void* /*lock*/, detail::sanitizer::attempt /*kind*/ =
                                                    detail::sanitizer::attempt::blocking) noexcept {
    return false;
  }
  static bool expect_not_held(const void* /*lock*/) noexcept { return false; }

 private:
  static bool pi_lock_until(const atomic<std::uint32_t>& word, const timespec* limit) noexcept {
    const auto is_mine = [&word] {
      // relaxed(owner): this thread's id is there only if this thread put it there.
      return (word.load(std::memory_order_relaxed) & FUTEX_TID_MASK) == thread_id();
    };
    const bool acquired = detail::os::futex_lock_pi(&word, limit, is_mine);
    // order[handed]: acquire; pairs [hand_over]; the kernel has already ordered the accesses.
    if (acquired && (word.load(std::memory_order_acquire) & FUTEX_OWNER_DIED) != 0) {
      detail::os::fatal("locking a mutex whose owner ended while it held it", EOWNERDEAD);
    }
    return acquired;
  }

  template <class State>
  static constexpr bool forgets = requires { State::forget_in_child(); };
  template <class State>
  static std::atomic<std::uint32_t>& epoch_of() noexcept {
    return process_state<detail::forgetting_epoch<State>>().last;
  }

  static std::uint32_t find_thread_id() noexcept;
};

[[gnu::noinline, gnu::cold]] inline std::uint32_t native::find_thread_id() noexcept {
  auto& memory = thread_state<detail::thread_id_memory>();
  memory = {detail::os::thread_id(), detail::current_fork_epoch()};
  return memory.id;
}

/// tests/unit/world/native_test.cpp asserts it.
template <>
inline constexpr bool is_tested_world<native> = true;

}  // namespace lockyard::inline v0
