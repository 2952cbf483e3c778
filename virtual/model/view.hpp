// SPDX-License-Identifier: Apache-2.0
#pragma once

// A thread's knowledge: of each location the oldest message that it may still read, and of each
// thread how many of its events happened before now.

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

namespace lockyard::model {

/// The clients' threads, and one thread that sets up and finishes.
inline constexpr std::size_t max_threads = 10;
/// Sets the client up before all others, and finishes after them.
inline constexpr std::size_t setup_thread = max_threads - 1;
inline constexpr std::size_t max_locations = 256;
inline constexpr std::size_t max_messages = 250;
/// From there on the threads take turns, so that a loop that writes leaves room for the others.
inline constexpr unsigned writes_in_every_order = 125;

/// A vector clock.
struct clock {
  std::array<std::uint16_t, max_threads> of{};

  bool operator==(const clock&) const = default;
  void join(const clock& other) noexcept {
    for (std::size_t i = 0; i < of.size(); ++i) of[i] = std::max(of[i], other.of[i]);
  }
  [[nodiscard]] bool covers(const clock& other) const noexcept {
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (other.of[i] > of[i]) return false;
    }
    return true;
  }
};

/// Messages are named by their place in the order of arrival, which is not modification order.
using message_index = std::uint8_t;

/// A message of each word, at first its first one. Most executions have few words, so only those
/// up to the last one that was changed are copied.
class message_of_word {
 public:
  message_of_word() = default;
  message_of_word(const message_of_word& other) noexcept { *this = other; }
  message_of_word& operator=(const message_of_word& other) noexcept {
    const std::size_t both = std::max(used_, other.used_);
    std::copy_n(other.all_.begin(), both, all_.begin());
    used_ = other.used_;
    return *this;
  }
  ~message_of_word() = default;

  message_index operator[](std::size_t word) const noexcept { return all_[word]; }
  message_index& operator[](std::size_t word) noexcept {
    used_ = std::max(used_, word + 1);
    return all_[word];
  }
  bool operator==(const message_of_word& other) const noexcept {
    return std::equal(all_.begin(), all_.begin() + std::max(used_, other.used_),
                      other.all_.begin());
  }

 private:
  std::array<message_index, max_locations> all_{};
  std::size_t used_ = 0;
};

struct view {
  message_of_word oldest;
  std::bitset<max_locations> has_read;  ///< whether the oldest one was read, or written only
  clock happened;

  bool operator==(const view&) const = default;
};

}  // namespace lockyard::model
