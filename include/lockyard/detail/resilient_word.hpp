// SPDX-License-Identifier: Apache-2.0
#pragma once

// The word of a resilient lock, with the operations of owners, and of threads that do not queue.

#include <lockyard/detail/line_bits.hpp>
#include <lockyard/detail/stall_watch.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

enum class line_form : std::uint8_t {
  spins,  ///< first come, first served, except for a thread without a node
  parks,  ///< waiters sleep; while the next one sleeps, newcomers may barge a limited number of
          ///< times
};

/// The word of a resilient lock: one step acquires it, one step releases it. resilient_line.hpp
/// implements the waiting.
template <world W, line_form Form>
class resilient_word {
  using word_bits = line_bits;

 public:
  constexpr resilient_word() noexcept = default;
  resilient_word(const resilient_word&) = delete;
  resilient_word& operator=(const resilient_word&) = delete;

  /// Acquires the lock if no thread holds it or waits for it.
  bool take(std::uint32_t& found) noexcept {
    // (tail,pending,owned)  0,0,0 -> 0,0,1
    // order[take]: acquire; pairs [unlock, unlock_unwaited, unlock_waited]; the critical section
    // starts after the end of the last one. relaxed(revalidated): the caller compares the value
    // that a failure finds again.
    return word_.compare_exchange_strong(found, word_bits::owned, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void release() noexcept {
    if constexpr (parks) {
      std::uint32_t found = word_bits::owned;
      // order[unlock_unwaited]: release; pairs [take]; publishes the critical section.
      // relaxed(revalidated): release_contended() compares the value found.
      if (!word_.compare_exchange_strong(found, 0, std::memory_order_release,
                                         std::memory_order_relaxed)) [[unlikely]] {
        release_contended(found);
      }
    } else {
      // (tail,pending,owned)  t,p,1 -> t,p,0
      // order[unlock]: release; pairs [take, resilient_line.hpp:own_pending,
      // resilient_line.hpp:own_head, resilient_line.hpp:own_before_next]; publishes the critical
      // section.
      word_.fetch_sub(word_bits::owned, std::memory_order_release);
    }
  }

  [[nodiscard]] bool is_owned() const noexcept {
    // relaxed(hint): used only for an owner that has ended, and cannot release the lock.
    return (word_.load(std::memory_order_relaxed) & word_bits::owned) != 0;
  }

  /// Spins for a while and barges if newcomers may; returns whether it has acquired the lock.
  bool barge() noexcept {
    if constexpr (!parks) return false;
    const auto may_take = [](std::uint32_t word) noexcept {
      return word_bits::is_unwanted(word) ||
             (word & (word_bits::owned | word_bits::open)) == word_bits::open;
    };
    const auto may_stop = [may_take](std::uint32_t word) noexcept {
      return may_take(word) || (word_bits::is_waited_for(word) && (word & word_bits::open) == 0);
    };
    const auto limit = W::spin_limit(stall_clock::first_slice);
    spacing between_looks;
    // relaxed(revalidated): the exchange decides.
    while (auto found =
               W::await(word_, may_stop, std::memory_order_relaxed, between_looks, limit)) {
      if (!may_take(*found)) return false;
      const std::uint32_t taken =
          word_bits::is_waited_for(*found) ? *found | word_bits::owned : word_bits::owned;
      // order[barge]: acquire; pairs [unlock_waited]; as in take().
      // relaxed(revalidated): the next iteration reads the word again.
      if (word_.compare_exchange_strong(*found, taken, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 protected:
  static constexpr bool parks = Form == line_form::parks;

  atomic<W, std::uint32_t> word_{0};

 private:
  using spacing = wait_policies::backing_off<32, 512>;  ///< for threads in no queue, as in mutex

  [[gnu::noinline, gnu::cold]] void release_contended(std::uint32_t found) noexcept {
    std::uint32_t left = 0;
    do {
      left = word_bits::is_waited_for(found) ? found & ~(word_bits::owned | word_bits::asleep) : 0;
      // order[unlock_waited]: release; pairs [take, barge, resilient_line.hpp:own_pending,
      // resilient_line.hpp:own_head]; publishes the
      // critical section. relaxed(revalidated): the next iteration compares the value found.
    } while (!word_.compare_exchange_weak(found, left, std::memory_order_release,
                                          std::memory_order_relaxed));
    if ((found & word_bits::asleep) != 0) W::wake(word_, 2);  // the pending waiter, and the head
  }
};

}  // namespace lockyard::inline v0::detail
