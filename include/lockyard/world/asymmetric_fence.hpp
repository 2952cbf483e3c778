// SPDX-License-Identifier: Apache-2.0
#pragma once

// A pair of fences for the native world: the light fence costs nothing, and the heavy fence makes
// the kernel execute a barrier on every core that runs a thread of the process (membarrier).

#include <lockyard/detail/os.hpp>
#include <lockyard/detail/sanitizer.hpp>
#include <lockyard/world/process_state.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// How the two sides of an asymmetric fence order in this process. The mode only moves downwards in
/// this list; the light side executes a full fence in all modes except `membarrier`.
enum class [[gnu::visibility("default")]] asymmetric_mode : std::uint8_t{
    undecided,   ///< no thread has requested a decision so far
    membarrier,  ///< registered with the kernel: the light side is a compiler barrier
    fences,      ///< membarrier is unavailable: both sides are full fences from now on
    lost,        ///< membarrier is no longer available: the heavy side cannot order the pair
};

class [[gnu::visibility("default")]] asymmetric_fence {
 public:
  static constexpr state_traits process_traits{.key = state_key{"asymmetric_fence"}.value(),
                                               .starts_as_zeros = true};

  void light() const noexcept {
    // order[light]: acquire; pairs [registered, decided]; a thread that sees `membarrier` knows
    // that the process is registered, so every later heavy fence is a barrier on this core.
    if (mode_.load(std::memory_order_acquire) == asymmetric_mode::membarrier) {
      light_when_registered();
    } else {
      // order[light_full]: seq_cst; pairs [heavy_full]; forbids the cycle in which each side misses
      // the other side's write (test: asymmetric_fences_order_store_and_load).
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }

  static void light_when_registered() noexcept {
    // order[light_compiler]: seq_cst; pairs [kernel]; keeps the compiler from forming the cycle
    // of [light_full]; the heavy side's barrier keeps the processor from forming it.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  /// Always requests a barrier from the kernel, whatever the mode: a light side may have seen
  /// `membarrier` before this thread does, and then only a real barrier orders. If the process is
  /// not registered, this call registers it and requests the barrier again. A refusal (an old
  /// kernel, emulation, a seccomp filter) is final for this call.
  bool heavy() noexcept {
    auto mode = asymmetric_mode::undecided;
    if constexpr (!sanitizer::under_tsan) {
      os::membarrier_outcome outcome = os::membarrier();
      if (outcome == os::membarrier_outcome::unregistered && os::membarrier_register()) {
        outcome = os::membarrier();
      }
      if (outcome == os::membarrier_outcome::done) {
        // order[registered]: release; pairs [light, known, decided_by_other]; publishes that the
        // process is registered, here or by another library: from now on the kernel executes every
        // heavy fence as a barrier on each core that runs the process.
        // relaxed(atomicity): a failed exchange found the mode decided by another thread.
        mode_.compare_exchange_strong(mode, asymmetric_mode::membarrier, std::memory_order_release,
                                      std::memory_order_relaxed);
        return true;
      }
    }
    // Decides the mode before relying on it, so that no light side can see `membarrier` later.
    mode = asymmetric_mode::undecided;
    // relaxed(atomicity): only the order of modifications counts; the fence below orders.
    if (!mode_.compare_exchange_strong(mode, asymmetric_mode::fences, std::memory_order_relaxed,
                                       std::memory_order_relaxed) &&
        mode == asymmetric_mode::membarrier) {
      // relaxed(atomicity): light sides that saw `membarrier` issued no fence; from now on those
      // that read the mode do. What relies on light_when_registered() makes up for it by itself.
      mode_.store(asymmetric_mode::lost, std::memory_order_relaxed);
      return false;
    }
    // order[heavy_full]: seq_cst; pairs [light_full]; forbids the cycle of [light_full].
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return mode != asymmetric_mode::lost;
  }

  /// Decides the mode if it is undecided; returns true if it is `membarrier`. Slow in a process
  /// that already has several threads, because the kernel then waits for every core.
  bool register_process() noexcept {
    // order[known]: acquire; pairs [registered, decided]; a caller that gets true may rely on it.
    auto mode = mode_.load(std::memory_order_acquire);
    if (mode == asymmetric_mode::undecided) {
      const auto wanted = !sanitizer::under_tsan && os::membarrier_register()
                              ? asymmetric_mode::membarrier
                              : asymmetric_mode::fences;
      // order[decided]: release; pairs [light, known, decided_by_other]; as in [registered].
      // order[decided_by_other]: acquire; pairs [registered, decided]; as in [known].
      if (mode_.compare_exchange_strong(mode, wanted, std::memory_order_release,
                                        std::memory_order_acquire)) {
        mode = wanted;
      }
    }
    return mode == asymmetric_mode::membarrier;
  }

  /// The present mode, for explanations to a user.
  [[nodiscard]] asymmetric_mode mode() const noexcept {
    // relaxed(hint): the mode may change at any time.
    return mode_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<asymmetric_mode> mode_{asymmetric_mode::undecided};
};

}  // namespace lockyard::inline v0::detail
