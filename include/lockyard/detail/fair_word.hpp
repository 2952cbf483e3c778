// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The word of basic_fair_mutex: the address of the first in the queue, and flags.
///
/// | flag | meaning |
/// |---|---|
/// | held | owned |
/// | busy | a thread changes the queue; no other thread changes the queue until it is done |
/// | active | a waiter is awake, or being woken, and bound to look: unlock wakes no thread |
/// | closed | held: the unlock hands off to the first in the queue. Free: no newcomer acquires it |
///
/// | closed and | meaning |
/// |---|---|
/// | held, active | a waiter is awake, or being woken: the unlock hands off; newcomers spin |
/// | held | the owner slept when it got the mutex, or IsStrict; newcomers sleep too |
/// | active | the first in the queue needs a processor; a newcomer reopens the mutex and sleeps |
///
/// fair_mutex.hpp has the invariants and the arguments.
template <world W, class Waiter, bool IsStrict>
class fair_word {
 public:
  static constexpr std::uint64_t held = 1, busy = 2, active = 4, closed = 8;
  static constexpr std::uint64_t flags = held | busy | active | closed;
  static_assert(alignof(Waiter) > flags);

  static constexpr bool is_open(std::uint64_t word) noexcept {
    return (word & (held | busy | closed)) == 0;
  }
  /// Whether spinning cannot help a newcomer.
  static constexpr bool shuts_out(std::uint64_t word) noexcept {
    return (word & closed) != 0 && (word & (held | active)) != (held | active);
  }
  /// Whether there is a queue without an active waiter, and no thread changes it.
  static bool lacks_active_waiter(std::uint64_t word) noexcept {
    return head_of(word) != nullptr && (word & (active | busy)) == 0;
  }
  /// Whether an unlock needs nothing but leave_to_active().
  static constexpr bool is_left_to_active(std::uint64_t word) noexcept {
    return (word & (busy | closed | active)) == active;
  }
  static Waiter* head_of(std::uint64_t word) noexcept {
    return reinterpret_cast<Waiter*>(static_cast<std::uintptr_t>(word & ~flags));
  }

  /// Expects no queue at first: a load before the compare-exchange would cost more.
  bool take() noexcept { return take(0, active); }
  /// Acquires while the word is open; of the other flags keeps those in `kept`.
  bool take(std::uint64_t found, std::uint64_t kept) noexcept {
    while (is_open(found)) {
      const std::uint64_t taken = (found & ~flags) | (found & kept) | held;
      // (word)  0 -> held,  line|active -> line|active|held;  by the active waiter, -> line|held
      // order[take]: acquire; pairs [release, leave, publish]; the critical section starts after
      // the last. relaxed(revalidated): the next turn compares the value found.
      if (word_.compare_exchange_strong(found, taken, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// Frees the mutex if no other flag is set and no thread is in the queue.
  bool release(std::uint64_t& found) noexcept {
    // (word)  held -> 0
    // order[release]: release; pairs [take, seize]; publishes the critical section.
    // relaxed(revalidated): leave_to_active() compares the value found.
    return word_.compare_exchange_strong(found, 0, std::memory_order_release,
                                         std::memory_order_relaxed);
  }
  /// Precondition: is_left_to_active(found). Frees the mutex if the word is still the same.
  bool leave_to_active(std::uint64_t found) noexcept {
    // (word)  line|active|held -> line|active
    // order[leave]: release; pairs [take, seize]; publishes the critical section.
    // relaxed(hint): after a failure the word is read anew.
    return word_.compare_exchange_strong(found, found & ~held, std::memory_order_release,
                                         std::memory_order_relaxed);
  }

  /// Sets busy; returns the word as it was before.
  std::uint64_t seize() noexcept {
    for (;;) {
      // (word)  line|x -> line|x|busy
      // order[seize]: acquire; pairs [release, leave, publish]; the queue as its last user left it,
      // and the critical section.
      const std::uint64_t word = word_.fetch_or(busy, std::memory_order_acquire);
      if ((word & busy) == 0) return word;
      const auto is_idle = [](std::uint64_t value) { return (value & busy) == 0; };
      // relaxed(revalidated): the next turn takes it or not.
      W::await(word_, is_idle, std::memory_order_relaxed,
               wait_policies::pausing_then_yielding<64>{});
    }
  }
  /// Ends what seize() began: by a store, because no other thread writes meanwhile.
  void publish(Waiter* head, std::uint64_t mark) noexcept {
    const std::uint64_t turn = IsStrict && head != nullptr ? closed : 0;
    // (word)  busy|... -> line|mark
    // order[publish]: release; pairs [take, seize]; publishes the queue, and with held clear the
    // critical section.
    word_.store(reinterpret_cast<std::uintptr_t>(head) | (mark & flags) | turn,
                std::memory_order_release);
  }

  /// Returns a word that is news, or nothing if the limit passed first.
  template <class News, class Policy>
  auto await(News is_news, Policy& between_looks, typename W::deadline limit) const noexcept {
    // relaxed(revalidated): take() and seize() read the word again.
    return W::await(word_, is_news, std::memory_order_relaxed, between_looks, limit);
  }
  [[nodiscard]] bool may_be_closed() const noexcept {
    // relaxed(hint): seize() reads the word again. The thread that handed the mutex to the caller
    // published the word before, so the caller cannot miss it.
    return (word_.load(std::memory_order_relaxed) & closed) != 0;
  }

 private:
  atomic<W, std::uint64_t> word_{0};
};

}  // namespace lockyard::inline v0::detail
