// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockyard::inline v0::detail {

/// The waiter summary: one word in each bucket of the parking lot that tells unlock about sleepers.
///
/// | bits | meaning |
/// |---|---|
/// | 0 | open: unlock may omit its fence, because sleepers execute a barrier on all cores |
/// | 1 | armed (while open): such a barrier was executed since the last mark was set |
/// | 2 | fenced: unlock must not omit its fence, whatever bit 0 is; see `attendance::expect` |
/// | 3 | mixed: threads sleep for several locks |
/// | 4 to 31 | the number of sleepers |
/// | 32 to 63 | the marks of the locks for which threads sleep; several locks may share a mark |
///
/// The word changes only under the bucket lock. While a thread sleeps for a lock, the lock's mark
/// is set.
class announcement {
 public:
  constexpr explicit announcement(std::uint64_t word) noexcept : word_{word} {}

  /// Open, without sleepers: the value for which unlock has nothing to do.
  static constexpr std::uint64_t silent = 1;

  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  [[nodiscard]] constexpr bool is_open() const noexcept { return (word_ & (open | fence)) == open; }
  /// Whether a barrier covers all marks. Never in a closed bucket, where each sleeper requests a
  /// barrier of its own: a bucket is closed when a barrier has become unavailable.
  [[nodiscard]] constexpr bool is_armed() const noexcept {
    return (word_ & (open | armed)) == (open | armed);
  }
  [[nodiscard]] constexpr bool has_sleepers() const noexcept { return (word_ & count) != 0; }

  /// Whether threads may sleep for a lock with this mark.
  [[nodiscard]] constexpr bool concerns(std::uint32_t mark) const noexcept {
    return (marks() & mark) != 0;
  }
  [[nodiscard]] constexpr bool is_of_one_lock() const noexcept { return (word_ & mixed) == 0; }
  [[nodiscard]] constexpr bool has_marks_besides(announcement other) const noexcept {
    return (marks() & ~other.marks()) != 0;
  }

  /// Returns the same summary with `sleepers` sleepers, which sleep for the locks of `marks`. A
  /// barrier covers only the marks that were set when it was executed: a thread that unlocks a lock
  /// with a new mark may have read earlier that no thread sleeps for the lock.
  [[nodiscard]] constexpr announcement of(std::uint32_t sleepers, std::uint32_t marks,
                                          bool of_several_locks) const noexcept {
    const bool stays_armed = (marks & ~this->marks()) == 0 && sleepers != 0;
    return announcement{(word_ & (stays_armed ? open | armed | fence : open | fence)) |
                        (of_several_locks ? mixed : 0) | sleepers * one |
                        (std::uint64_t{marks} << 32U)};
  }
  [[nodiscard]] constexpr std::uint32_t sleepers() const noexcept {
    return static_cast<std::uint32_t>((word_ & count) / one);
  }
  [[nodiscard]] constexpr announcement opened() const noexcept {
    return announcement{word_ | open};
  }
  [[nodiscard]] constexpr announcement closed() const noexcept {
    return announcement{word_ & ~(open | armed)};
  }
  [[nodiscard]] constexpr announcement fenced() const noexcept {
    return announcement{word_ | fence};
  }
  [[nodiscard]] constexpr announcement unfenced() const noexcept {
    return announcement{word_ & ~fence};
  }
  [[nodiscard]] constexpr announcement with_barrier() const noexcept {
    return announcement{word_ | armed};
  }

 private:
  static constexpr std::uint64_t open = 1, armed = 2, fence = 4, mixed = 8, one = 16,
                                 count = 0xffff'fff0;

  [[nodiscard]] constexpr std::uint32_t marks() const noexcept {
    return static_cast<std::uint32_t>(word_ >> 32U);
  }

  std::uint64_t word_;
};

}  // namespace lockyard::inline v0::detail
