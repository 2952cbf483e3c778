// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockyard::inline v0 {

/// The barrier between the release of a mutex and the look for its sleepers.
enum class release_fence : std::uint8_t {
  asymmetric,  ///< nothing; a sleeper makes up for it (where the kernel has membarrier)
  full,        ///< a fence
};

namespace detail {

/// The waiter summary: one word in each bucket of the parking lot that tells unlock about sleepers.
///
/// | bits | meaning |
/// |---|---|
/// | 0 | fence elided: unlock may omit its fence, because sleepers execute a barrier on all cores |
/// | 1 | barrier issued: one was executed since the last mark was set; meaningless without bit 0 |
/// | 2 | condition waiters present: unlock must not omit its fence, whatever bit 0 is |
/// | 3 | mixed: threads sleep for several locks |
/// | 4 to 31 | the number of sleepers |
/// | 32 to 63 | the marks of the locks for which threads sleep; several locks may share a mark |
///
/// The word changes only under the bucket lock. While a thread sleeps for a lock, the lock's mark
/// is set. An unlock sets bit 0 when no thread sleeps in the bucket, and a sleeper whose barrier is
/// refused clears it. A sleeper sets bit 1 after its barrier; a new mark, and the end of the last
/// sleep, clear it. The first waiter of a condition variable sets bit 2, and the last one clears it
/// (condition_bucket.hpp).
class waiter_summary {
 public:
  constexpr explicit waiter_summary(std::uint64_t word) noexcept : word_{word} {}

  /// Fence elided, no sleepers, no condition waiters: unlock has nothing to do.
  static constexpr std::uint64_t no_waiters = 1;

  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  [[nodiscard]] constexpr bool may_elide_fence() const noexcept {
    return (word_ & (elided | conditions)) == elided;
  }
  /// Whether a barrier covers all marks. Never where unlock requires its fence: there each sleeper
  /// requests a barrier of its own.
  [[nodiscard]] constexpr bool has_issued_barrier() const noexcept {
    return (word_ & (elided | issued)) == (elided | issued);
  }
  [[nodiscard]] constexpr bool has_sleepers() const noexcept { return (word_ & count) != 0; }

  /// Whether threads may sleep for a lock with this mark.
  [[nodiscard]] constexpr bool includes(std::uint32_t mark) const noexcept {
    return (marks() & mark) != 0;
  }
  [[nodiscard]] constexpr bool is_of_one_lock() const noexcept { return (word_ & mixed) == 0; }
  [[nodiscard]] constexpr bool has_new_marks_since(waiter_summary before) const noexcept {
    return (marks() & ~before.marks()) != 0;
  }

  /// Returns the same summary with `sleepers` sleepers, which sleep for the locks of `marks`. A
  /// barrier covers only the marks that were set when it was executed: a thread that unlocks a lock
  /// with a new mark may have read earlier that no thread sleeps for the lock.
  [[nodiscard]] constexpr waiter_summary with_sleepers(std::uint32_t sleepers, std::uint32_t marks,
                                                       bool of_several_locks) const noexcept {
    const bool stays_covered = (marks & ~this->marks()) == 0 && sleepers != 0;
    return waiter_summary{
        (word_ & (stays_covered ? elided | issued | conditions : elided | conditions)) |
        (of_several_locks ? mixed : 0) | sleepers * one | (std::uint64_t{marks} << 32U)};
  }
  [[nodiscard]] constexpr std::uint32_t sleepers() const noexcept {
    return static_cast<std::uint32_t>((word_ & count) / one);
  }
  [[nodiscard]] constexpr waiter_summary with_fence_elided() const noexcept {
    return waiter_summary{word_ | elided};
  }
  [[nodiscard]] constexpr waiter_summary with_fence_required() const noexcept {
    return waiter_summary{word_ & ~(elided | issued)};
  }
  [[nodiscard]] constexpr waiter_summary with_condition_waiters() const noexcept {
    return waiter_summary{word_ | conditions};
  }
  [[nodiscard]] constexpr waiter_summary without_condition_waiters() const noexcept {
    return waiter_summary{word_ & ~conditions};
  }
  [[nodiscard]] constexpr waiter_summary with_issued_barrier() const noexcept {
    return waiter_summary{word_ | issued};
  }

 private:
  static constexpr std::uint64_t elided = 1, issued = 2, conditions = 4, mixed = 8, one = 16,
                                 count = 0xffff'fff0;

  [[nodiscard]] constexpr std::uint32_t marks() const noexcept {
    return static_cast<std::uint32_t>(word_ >> 32U);
  }

  std::uint64_t word_;
};

}  // namespace detail

}  // namespace lockyard::inline v0
