// SPDX-License-Identifier: Apache-2.0
#pragma once

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
    bool oldest_writes = false;             ///< the one that began to wait first wants to write

    constexpr void add(request wanted) noexcept {
      if (all() == 0) oldest_writes = wanted == request::write;
      ++counts[index_of(wanted)];
    }
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
    bool all_readers = false;
    std::optional<request> first_of{};  ///< the first that wants this
    bool is_granted = true;  ///< else that one is to look again, and others may be faster
  };

  /// Who gets the lock when the word would be `next`. After a writer it is the turn of readers,
  /// unless the oldest writer is due; after the last reader that of writers.
  static constexpr choice choose(const line& asleep, std::uint32_t next, bool after_writer,
                                 bool is_due) noexcept {
    if ((next & written) != 0) return {};
    if (asleep.writers() == 0 || (after_writer && !is_due)) {
      const bool upgrades = asleep.of(request::upgrade) != 0 && (next & upgradable) == 0;
      const bool reads = asleep.of(request::read) != 0;
      if (upgrades) return {.all_readers = reads, .first_of = request::upgrade};
      if (reads) return {.all_readers = true};
    }
    const request writing = (next & upgradable) == 0 ? request::write : request::write_on;
    if ((next & readers) != 0 || asleep.of(writing) == 0) return {};
    return {.first_of = writing, .is_granted = !after_writer || is_due};
  }

  /// The word with what the chosen ones get, and with the flags that those left in line need.
  static constexpr std::uint32_t granted(line asleep, const choice& chosen,
                                         std::uint32_t word) noexcept {
    if (chosen.all_readers) {
      word += asleep.of(request::read) * reader;
      asleep.remove(request::read, asleep.of(request::read));
    }
    if (chosen.first_of) {
      if (chosen.is_granted) word += taken_by(*chosen.first_of);
      asleep.remove(*chosen.first_of, 1);
    }
    word &= ~(closed | watched);
    return word | (asleep.writers() != 0 ? closed : 0U) | (asleep.all() != 0 ? watched : 0U);
  }
};

}  // namespace lockyard::inline v0::detail
