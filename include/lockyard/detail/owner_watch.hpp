// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/os/scheduling.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/native.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>

namespace lockyard::inline v0::detail {

/// Tells a waiter of a lock whether the owner runs, as far as that can be known, and how to pass
/// the time meanwhile. Virtual worlds do not tell, so there a spin lasts as long as a sleep would
/// cost. All of it is a hint: a wrong answer costs time.
template <world W>
class owner_watch {
 public:
  /// Names the processor of the calling thread, for waiters; 0: unknown.
  static constexpr std::uint32_t processor() noexcept { return 0; }

  explicit owner_watch(const atomic<W, std::uint32_t>& /*word*/) noexcept {}

  /// Returns whether the waiter should spin on. `owner` is the owner's thread_id(), and `processor`
  /// what the owner's processor() returned when it acquired the lock.
  bool may_run(std::uint32_t /*owner*/, std::uint32_t /*processor*/) noexcept {
    return !std::exchange(has_looked_, true);
  }
  /// The deadline of the spin that follows, after which the waiter asks again.
  [[nodiscard]] typename W::deadline next_look() const noexcept { return W::spin_limit(); }
  auto& spacing() noexcept { return spacing_; }

 private:
  bool has_looked_ = false;
  wait_policies::backing_off<32, 8192> spacing_;
};

template <world W>
  requires std::derived_from<W, native>
class owner_watch<W> {
 public:
  /// The longest spin for an owner that runs.
  static constexpr std::chrono::microseconds longest{100};
  /// The time between two questions to the kernel.
  static constexpr std::chrono::microseconds interval{3};

  static std::uint32_t processor() noexcept {
    return os::processor_and_one(arch::thread_pointer());
  }

  explicit owner_watch(const atomic<W, std::uint32_t>& word) noexcept : spacing_{word} {}

  /// No memory of the owner is read, because the owner may have ended: `processor` is in the lock,
  /// and the kernel is asked by the owner's number.
  bool may_run(std::uint32_t owner, std::uint32_t processor) noexcept {
    if (processor != 0 && processor == owner_watch::processor()) return false;
    const auto now = W::now();
    if (!std::exchange(has_looked_, true)) {  // a short hold ends before the first question
      by_time_ = W::spin_limit();
      end_ = now + longest;
      return true;
    }
    const auto used = os::processor_time_ns(owner);
    if (!used) return !W::passed(by_time_);
    const bool stood_still =
        owner == owner_ && (*used - used_ns_) * 2 < std::chrono::nanoseconds{now - since_}.count();
    owner_ = owner;
    used_ns_ = *used;
    since_ = now;
    return !stood_still && now < end_;
  }
  [[nodiscard]] typename W::deadline next_look() const noexcept {
    return W::deadline_after(interval);
  }
  auto& spacing() noexcept { return spacing_; }

 private:
  /// Waits for a change of the word where the processor can.
  class change_or_pause {
   public:
    explicit change_or_pause(const atomic<W, std::uint32_t>& word) noexcept : word_{word} {}

    template <class World>
    step_length step() noexcept {
      if (!can_await_change()) return pause_.template step<World>();
      // relaxed(hint): a change that is missed ends the wait some microseconds later.
      const std::uint32_t seen = word_.load(std::memory_order_relaxed);
      if (seen == 0) return step_length::brief;
      // relaxed(hint): as above.
      arch::await_change(&word_, [&] { return word_.load(std::memory_order_relaxed) == seen; });
      return step_length::lengthy;
    }

   private:
    /// Asks the processor once, without a guard that a forked child could find taken.
    static bool can_await_change() noexcept {
      enum : std::uint8_t { unknown, no, yes };
      static std::atomic<std::uint8_t> known{unknown};
      // relaxed(hint): a thread that misses the answer asks again.
      std::uint8_t can = known.load(std::memory_order_relaxed);
      if (can == unknown) {
        can = arch::can_await_change() ? yes : no;
        // relaxed(hint): as above.
        known.store(can, std::memory_order_relaxed);
      }
      return can == yes;
    }

    const atomic<W, std::uint32_t>& word_;
    wait_policies::backing_off<32, 8192> pause_;
  };

  bool has_looked_ = false;
  std::uint32_t owner_ = 0;
  std::int64_t used_ns_ = 0;
  typename W::time_point since_{}, end_{};
  typename W::deadline by_time_{};
  change_or_pause spacing_;
};

/// Asks the kernel not to preempt the calling thread between begin() and end(), which nest. Virtual
/// worlds have no such kernel.
template <world W>
struct time_slice {
  static constexpr void begin() noexcept {}
  static constexpr void end() noexcept {}
};

/// A thread's extension of its time slice. Trivially destructible, for late destructors.
struct [[gnu::visibility("default")]] slice_memory {
  os::slice_control* control = nullptr;
  std::uint32_t depth = 0;
  bool is_unavailable = false;
};
/// Set once the kernel has refused, so that no other thread asks.
struct [[gnu::visibility("default")]] slice_support {
  static constexpr state_traits process_traits{.key = state_key{"slice_support"}.value(),
                                               .starts_as_zeros = true};
  std::atomic<bool> is_missing{false};
};

template <world W>
  requires std::derived_from<W, native>
struct time_slice<W> {
  static void begin() noexcept {
    slice_memory& mine = W::template thread_state<slice_memory>();
    if (mine.is_unavailable) [[likely]]
      return;
    begin_extension(mine);
  }
  static void end() noexcept {
    slice_memory& mine = W::template thread_state<slice_memory>();
    if (mine.control == nullptr) [[likely]]
      return;
    end_extension(mine);
  }

 private:
  [[gnu::noinline]] static void begin_extension(slice_memory& mine) noexcept {
    if (mine.control == nullptr) mine.control = find();
    mine.is_unavailable = mine.control == nullptr;
    if (mine.is_unavailable || mine.depth++ != 0) return;
    // relaxed(owner): the kernel reads it on behalf of this thread.
    mine.control->request.store(1, std::memory_order_relaxed);
    compiler_barrier();
  }
  [[gnu::noinline]] static void end_extension(slice_memory& mine) noexcept {
    // A part of the program that only unlocks has begun nothing.
    if (mine.depth == 0 || --mine.depth != 0) return;
    compiler_barrier();
    // relaxed(owner): as above.
    mine.control->request.store(0, std::memory_order_relaxed);
    compiler_barrier();
    // relaxed(owner): the kernel writes it on behalf of this thread.
    if (mine.control->granted.load(std::memory_order_relaxed) != 0) give_back();
  }
  static void compiler_barrier() noexcept {
    // order[stepped]: seq_cst; pairs [kernel]; the kernel, which may look after each instruction of
    // this thread, forms no cycle with the section. For the compiler only.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  /// A test's world plays the kernel.
  static os::slice_control* find() noexcept {
    if constexpr (requires { W::slice_extension(); }) {
      return W::slice_extension();
    } else {
      auto& missing = W::template process_state<slice_support>().is_missing;
      // relaxed(hint): a thread that misses it asks the kernel itself.
      if (missing.load(std::memory_order_relaxed)) return nullptr;
      os::slice_control* const found = os::enable_slice_extension(arch::thread_pointer());
      // relaxed(hint): as above.
      if (found == nullptr) missing.store(true, std::memory_order_relaxed);
      return found;
    }
  }
  static void give_back() noexcept {
    if constexpr (requires { W::end_slice_extension(); }) {
      W::end_slice_extension();
    } else {
      os::end_slice_extension();
    }
  }
};

}  // namespace lockyard::inline v0::detail
