// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lockyard::inline v0::detail {

/// The word of basic_shared_mutex, and the choice of the next owners: arithmetic, without a world.
struct shared_word {
  static constexpr std::uint32_t written = 1;     ///< a writer holds the lock
  static constexpr std::uint32_t closed = 2;      ///< a writer sleeps: new readers are kept out
  static constexpr std::uint32_t parked = 4;      ///< a thread sleeps
  static constexpr std::uint32_t upgradable = 8;  ///< an upgrader holds it, as readers may too
  static constexpr std::uint32_t reader = 16;     ///< one reader: the count is in bits 4 to 31
  static constexpr std::uint32_t readers = ~(reader - 1);

  /// The requests of threads; the parking lot knows their nodes by these numbers.
  enum class request : std::uint8_t {
    read = 1,
    upgrade,  ///< to read, as the only thread that may upgrade
    write,
    write_on,  ///< to write, by the thread that holds the lock as `upgrade`
  };

  static constexpr std::size_t index_of(request wanted) noexcept {
    return static_cast<std::size_t>(wanted) - 1;
  }
  static constexpr bool writes(request wanted) noexcept { return wanted >= request::write; }
  /// The bits of the word that block the request.
  static constexpr std::uint32_t blocked_by(request wanted) noexcept {
    constexpr std::array masks{written | closed, written | closed | upgradable,
                               written | upgradable | readers, readers};
    return masks[index_of(wanted)];
  }
  /// The number that a grant of the request adds to the word, modulo 2^32.
  static constexpr std::uint32_t taken_by(request wanted) noexcept {
    constexpr std::array sums{reader, upgradable, written, written - upgradable};
    return sums[index_of(wanted)];
  }

  /// The number of sleepers for each request.
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

  /// The sleepers that are unparked.
  struct choice {
    std::uint32_t readers = 0;          ///< the number of readers
    std::optional<request> first_of{};  ///< besides: the first sleeper with this request
    bool is_granted = true;             ///< false: that sleeper retries, and others may barge
  };

  /// Chooses the next owners for a word that would be `next` without them. After a writer it is the
  /// turn of readers, unless the oldest writer is due; after the last reader it is the turn of
  /// writers. If more than `most` readers sleep, the first ones are chosen, and the others wait for
  /// another choice. Precondition: `most` is not 0.
  static constexpr choice choose(const line& asleep, std::uint32_t next, bool after_writer,
                                 bool is_due, std::uint32_t most) noexcept {
    if ((next & written) != 0) return {};
    if (asleep.writers() == 0 || (after_writer && !is_due)) {
      const bool upgrades = asleep.of(request::upgrade) != 0 && (next & upgradable) == 0;
      const std::uint32_t reading = std::min(asleep.of(request::read), most);
      if (upgrades) return {.readers = reading, .first_of = request::upgrade};
      if (reading != 0) return {.readers = reading};
    }
    const request writing = (next & upgradable) == 0 ? request::write : request::write_on;
    if ((next & readers) != 0 || asleep.of(writing) == 0) return {};
    return {.first_of = writing, .is_granted = !after_writer || is_due};
  }

  /// Returns the word with the chosen grants, and with the flags that the remaining sleepers need.
  static constexpr std::uint32_t granted(line asleep, const choice& chosen,
                                         std::uint32_t word) noexcept {
    word += chosen.readers * reader;
    asleep.remove(request::read, chosen.readers);
    if (chosen.first_of) {
      if (chosen.is_granted) word += taken_by(*chosen.first_of);
      asleep.remove(*chosen.first_of, 1);
    }
    word &= ~(closed | parked);
    return word | (asleep.writers() != 0 ? closed : 0U) | (asleep.all() != 0 ? parked : 0U);
  }
};

}  // namespace lockyard::inline v0::detail
