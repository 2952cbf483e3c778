// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockyard::inline v0::detail {

/// What a bucket of the parking lot tells those who unlock about those who sleep, in one word.
///
/// | bits | meaning |
/// |---|---|
/// | 0 | open: unlock may leave its fence out, because sleepers execute a barrier on all cores |
/// | 1 | armed: such a barrier has been executed while bits 32 to 63 were as they are; while open |
/// | 2 | fenced: unlock may not leave its fence out, whatever bit 0 says; see attendance::expect |
/// | 3 to 31 | how many sleep |
/// | 32 to 63 | the tag of the lock for which all of them sleep; 0 if there may be several |
///
/// It changes only under the bucket's guard. While there are sleepers, the tag changes at most from
/// one lock's to 0. So a lock that is concerned stays so until nobody sleeps.
class announcement {
 public:
  constexpr explicit announcement(std::uint64_t word) noexcept : word_{word} {}

  /// Open, and nobody sleeps: the word on which unlock need not stop.
  static constexpr std::uint64_t silent = 1;

  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  [[nodiscard]] constexpr bool is_open() const noexcept { return (word_ & (open | fence)) == open; }
  /// In a closed bucket each sleeper asks for a barrier of its own, for one that cannot be had any
  /// more closes it.
  [[nodiscard]] constexpr bool is_armed() const noexcept {
    return (word_ & (open | armed)) == (open | armed);
  }
  [[nodiscard]] constexpr bool has_sleepers() const noexcept { return (word_ & count) != 0; }

  /// Whether somebody may sleep for the lock of that tag.
  [[nodiscard]] constexpr bool concerns(std::uint32_t tag) const noexcept {
    return has_sleepers() && (this->tag() == several || this->tag() == tag);
  }
  [[nodiscard]] constexpr bool is_of_one_lock() const noexcept { return tag() != several; }
  /// Whether a barrier that the other one calls for would do for this one too.
  [[nodiscard]] constexpr bool is_as_wide_as(announcement other) const noexcept {
    return has_sleepers() && tag() == other.tag();
  }

  [[nodiscard]] constexpr announcement with(std::uint32_t sleeper) const noexcept {
    if (!has_sleepers()) return announcement{(word_ & (open | fence)) | one | at_tag(sleeper)};
    const announcement more{word_ + one};
    if (tag() == several || tag() == sleeper) return more;
    // Who looked for another tag up to now has been told to look away: the barrier is void.
    return announcement{more.word_ & (open | fence | count)};
  }
  [[nodiscard]] constexpr announcement without_one() const noexcept {
    const announcement less{word_ - one};
    return less.has_sleepers() ? less : announcement{word_ & (open | fence)};
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
  static constexpr std::uint64_t open = 1, armed = 2, fence = 4, one = 8, count = 0xffff'fff8;
  static constexpr std::uint32_t several = 0;

  [[nodiscard]] constexpr std::uint32_t tag() const noexcept {
    return static_cast<std::uint32_t>(word_ >> 32U);
  }
  static constexpr std::uint64_t at_tag(std::uint32_t tag) noexcept {
    return std::uint64_t{tag} << 32U;
  }

  std::uint64_t word_;
};

}  // namespace lockyard::inline v0::detail
