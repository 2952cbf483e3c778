// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lockyard::inline v0::detail {

/// The word of basic_shared_mutex, and who gets the lock next: arithmetic, without a world.
struct shared_word {
  static constexpr std::uint32_t written = 1;     ///< a writer holds the lock
  static constexpr std::uint32_t closed = 2;      ///< one that will write sleeps: readers keep out
  static constexpr std::uint32_t watched = 4;     ///< somebody sleeps
  static constexpr std::uint32_t upgradable = 8;  ///< an upgrader holds it, beside readers
  static constexpr std::uint32_t reader = 16;     ///< one of them
  static constexpr std::uint32_t readers = ~(reader - 1);

  /// What threads ask for; the numbers by which the parking lot knows their nodes.
  enum class request : std::uint8_t {
    read = 1,
    upgrade,  ///< to read, and to be the one that may upgrade
    write,
    write_on,  ///< as the upgrader: to upgrade
  };

  static constexpr std::size_t index_of(request wanted) noexcept {
    return static_cast<std::size_t>(wanted) - 1;
  }
  static constexpr bool writes(request wanted) noexcept { return wanted >= request::write; }
  /// What may not be in the word when the request is granted.
  static constexpr std::uint32_t blocked_by(request wanted) noexcept {
    constexpr std::array masks{written | closed, written | closed | upgradable,
                               written | upgradable | readers, readers};
    return masks[index_of(wanted)];
  }
  /// What granting it adds to the word, modulo 2^32.
  static constexpr std::uint32_t taken_by(request wanted) noexcept {
    constexpr std::array sums{reader, upgradable, written, written - upgradable};
    return sums[index_of(wanted)];
  }

  /// Who sleeps.
  struct line {
    std::array<std::uint32_t, 4> counts{};  ///< by request

    constexpr void remove(request wanted, std::uint32_t count) noexcept {
      counts[index_of(wanted)] -= count;
    }
    [[nodiscard]] constexpr std::uint32_t of(request wanted) const noexcept {
      return counts[index_of(wanted)];
    }
    [[nodiscard]] constexpr std::uint32_t writers() const noexcept {
      return of(request::write) + of(request::write_on);
    }
    [[nodiscard]] constexpr std::uint32_t all() const noexcept {
      return of(request::read) + of(request::upgrade) + writers();
    }
  };

  /// Who of them is roused.
  struct choice {
    std::uint32_t readers = 0;          ///< so many
    std::optional<request> first_of{};  ///< the first that wants this
    bool is_granted = true;  ///< else that one is to look again, and others may be faster
  };

  /// The most readers that are roused at once.
  static constexpr std::uint32_t most_readers = 15;

  /// Who gets the lock when the word would be `next`. After a writer it is the turn of readers,
  /// unless the oldest writer is due; after the last reader it is the turn of writers. Of more
  /// readers than `most_readers` the first ones are chosen, and the others are left for another
  /// choice.
  static constexpr choice choose(const line& asleep, std::uint32_t next, bool after_writer,
                                 bool is_due) noexcept {
    if ((next & written) != 0) return {};
    if (asleep.writers() == 0 || (after_writer && !is_due)) {
      const bool upgrades = asleep.of(request::upgrade) != 0 && (next & upgradable) == 0;
      const std::uint32_t reading = std::min(asleep.of(request::read), most_readers);
      if (upgrades) return {.readers = reading, .first_of = request::upgrade};
      if (reading != 0) return {.readers = reading};
    }
    const request writing = (next & upgradable) == 0 ? request::write : request::write_on;
    if ((next & readers) != 0 || asleep.of(writing) == 0) return {};
    return {.first_of = writing, .is_granted = !after_writer || is_due};
  }

  /// The word with what the chosen ones get, and with the flags that those left in line need.
  static constexpr std::uint32_t granted(line asleep, const choice& chosen,
                                         std::uint32_t word) noexcept {
    word += chosen.readers * reader;
    asleep.remove(request::read, chosen.readers);
    if (chosen.first_of) {
      if (chosen.is_granted) word += taken_by(*chosen.first_of);
      asleep.remove(*chosen.first_of, 1);
    }
    word &= ~(closed | watched);
    return word | (asleep.writers() != 0 ? closed : 0U) | (asleep.all() != 0 ? watched : 0U);
  }
};

}  // namespace lockyard::inline v0::detail
