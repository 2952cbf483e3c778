// SPDX-License-Identifier: Apache-2.0
#pragma once

// The conditions that a thread waits for, and the record that tells whether a loop is a wait.

#include "hash.hpp"
#include "rewritten.hpp"
#include "sequential_order.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lockyard::model {

inline constexpr std::size_t max_looks = 8;

/// Where a word lies, and its type: code with a world says no more of it, because the number of the
/// word depends on the order of steps.
struct word_place {
  const void* address = nullptr;
  const void* type = nullptr;
};

/// One word that an await looks at.
struct look {
  location_index where = 0;
  word_place lies{};  ///< if it is known, in place of the number
  std::memory_order order;
  const void* predicate;
  bool (*test)(const void* predicate, std::uint64_t value);

  [[nodiscard]] bool holds(std::uint64_t value) const { return test(predicate, value); }
};

/// The new value that a read-modify-write makes of the old one.
struct change {
  std::uint64_t (*apply)(std::uint64_t found, std::uint64_t operand);
  std::uint64_t operand;

  static change to(std::uint64_t value) {
    return {.apply = [](std::uint64_t, std::uint64_t self) { return self; }, .operand = value};
  }
  [[nodiscard]] std::uint64_t of(std::uint64_t found) const { return apply(found, operand); }
};

struct seen {
  std::size_t look;
  std::uint64_t value;
};

/// When a deadline passes.
enum class passes : std::uint8_t {
  early,    ///< while others could still go on, as often as `timeouts` allows; or when none can
  of_spin,  ///< as the wait begins, as often as `short_spins` allows; or when none can go on
};

enum class sleep_end : std::uint8_t { woken, changed, timed_out };

/// The wakes that a sleep expects. A thread that waits for another value sleeps in one of the last
/// two ways (notified.cpp): where a notification does something else, the execution is left out.
enum class sleep_kind : std::uint8_t {
  usual,                ///< a wake, or nothing
  forever,              ///< no notification reaches it
  in_place_of_another,  ///< a notification reaches it that another sleeper would need
};

/// A futex's bits when none are named.
inline constexpr std::uint32_t any_bit = ~0U;

/// Calls of the kernel. The result of one matters unless the caller is known not to look at it.
struct futex_wait {
  location_index on = 0;
  word_place lies{};  ///< if it is known, in place of the number
  std::uint64_t expected;
  std::optional<std::size_t> deadline{};
  std::uint32_t bits = any_bit;  ///< only a wake that has one of them in common ends the sleep
  bool result_matters = true;
  bool has_limit = false;    ///< a deadline of its own, which is made where it counts
  bool may_end = false;      ///< the word may once a wake has reached its sleepers
  bool has_barrier = false;  ///< the kernel executes a full barrier before it looks
};
struct futex_wake {
  const void* address;  ///< the kernel knows no more of the word, which may be gone
  std::uint32_t count;
  std::uint32_t bits = any_bit;
  bool result_matters = true;
};

struct read_before {
  location_index where;
  message_index which;

  bool operator==(const read_before&) const = default;
};

/// Whether a sleep may end for no reason (futile_sleeps.cpp).
enum class idle_wake : std::uint8_t {
  counted,  ///< while the execution has some left
  free,     ///< at any time
  none,     ///< it has, and the thread has come back
};

/// The last sleep of a thread that has done nothing since that others can see.
struct sleep_before {
  hash128 state;  ///< stack, registers and knowledge
  hash128 knowledge;
  const void* address;
  bool has_ended_idly = false;  ///< for no reason
  unsigned turns = 0;           ///< before, in which it has learned nothing
  bool is_disturbed = false;    ///< others have used the queue since, or it has lost its place
};

/// A loop that counts is run far at once. Whether it has an end is found out once for each state in
/// which that begins; from then on a loop without end is run less far.
struct long_run {
  std::uint64_t state = 0;
  std::size_t choice = 0;
  bool is_endless = false;
};

/// Reads of plain data since the thread last did something that such a loop does not do.
struct plain_loop {
  std::uint32_t reads = 0;
  std::uint32_t turns = 0;       ///< reads of the marked data since it was marked
  const void* marked = nullptr;  ///< data that the loop may read in each turn, if it is a loop
  hash128 state;                 ///< at the first turn
  bool has_given_way = false;
};

/// A turn of a loop that has come back to where it was, without having done anything that others
/// can see, besides taking locks and giving them back.
struct turn {
  std::size_t reads_before;  ///< that the thread had made
  bool may_be_left_out;      ///< no fault concerns its reads, apart from reads of its first word
  bool asks_time;
  /// Where it has taken locks, others may change data that it has read without a race.
  std::span<const std::size_t> data;
  std::span<const location_index> locks;
  bool has_news;  ///< some of the data has changed since it was read
};

/// What tells whether a thread comes back to where it was.
struct repetition {
  struct failure {
    std::uint64_t site;
    hash128 code;
    hash128 state;
    hash128 knowledge;
  };
  hash128 code;                     ///< at the last step that noted it: stack, registers
  hash128 state;                    ///< then, with what the thread knows
  hash128 knowledge;                ///< then
  std::vector<hash128> at_pauses;   ///< the states at its pauses, since it last learned or acted
  hash128 known_at_pause;           ///< the knowledge at the last pause
  long_run rush;                    ///< of the loop that is run to its end at once
  std::uint32_t rushed_pauses = 0;  ///< of that loop
  std::uint32_t rushed_loads = 0;
  std::vector<read_before> loop;  ///< what that loop reads
  std::vector<read_before> all_reads;
  bool may_be_left_out = false;       ///< the last turn of a loop
  bool asks_time = false;             ///< in that turn
  bool time_has_passed = false;       ///< when the thread asks next
  std::uint64_t hours = 0;            ///< that the thread has seen on its clock
  std::vector<std::size_t> data;      ///< that it has read without an atomic access
  std::vector<location_index> locks;  ///< that it has taken
  std::uint64_t changes_before = 0;   ///< of data, when the thread began to wait
  bool has_news = false;              ///< some of it had changed then
  /// What the thread would read in an attempt that it does not make again; nothing if it has acted.
  std::optional<read_before> skipped;
  /// The message with the value other than which it waits for; nothing if it has acted since.
  std::optional<read_before> waited_with;
  std::optional<sleep_before> slept;
  unsigned turns_in_kernel = 0;
  unsigned spins_in_a_row = 0;    ///< returns from the kernel that no event separates
  std::uint16_t spun_after = 0;   ///< the event before them
  std::uint16_t failed_at = 0;    ///< the event of the last of these failures; 0: none
  std::vector<failure> failures;  ///< of compare-exchanges, for no reason
  /// The places of such failures before the thread acted, until its compare-exchange there
  /// succeeds, or finds another value.
  std::vector<std::uint64_t> past_failures;
  rewritten_memory rewritten;  ///< since the first of the states above
  std::size_t rewritten_at_pause = 0;
  bool has_written_plain = false;  ///< since the last pause
  bool has_read_plain = false;     ///< since the last pause
  plain_loop plain;
};

}  // namespace lockyard::model
