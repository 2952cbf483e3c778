// SPDX-License-Identifier: Apache-2.0
#pragma once

// The work of threads while they hold the lock and while they stay away from it: they keep the
// processor busy for lengths that were drawn before the run. docs/studies/throughput.md says how.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace lockyard::harness {

enum class lengths : std::uint8_t {
  constant,
  exponential,  ///< with that mean
  bimodal,      ///< one in ten is ten times as long as the others; with that mean
  recorded,     ///< as in a recording
};

inline constexpr std::array all_lengths{lengths::constant, lengths::exponential, lengths::bimodal,
                                        lengths::recorded};

constexpr std::string_view name_of(lengths kind) noexcept {
  return std::array<std::string_view, all_lengths.size()>{
      "constant", "exponential", "bimodal", "recorded"}[static_cast<std::size_t>(kind)];
}

/// A recorded turn of a thread.
struct recorded_turn {
  double gap_ns;
  double hold_ns;
};
/// More turns would not fit into a first-level cache, nor a job into a pipe at once.
inline constexpr std::size_t max_recorded_turns = 16'384;

/// Longer ones would not fit into a run, nor their steps into a word.
inline constexpr double max_work_ns = 1e8;

/// The work that each thread is asked to do.
struct work_request {
  double hold_ns;  ///< mean time with the lock
  double gap_ns;   ///< mean time without it, before each call
  lengths kind;
  /// The recorded turns, or empty.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where it is left out
  std::vector<recorded_turn> recording{};

  [[nodiscard]] bool is_none() const noexcept { return hold_ns == 0 && gap_ns == 0; }
};

/// Keeps the processor busy for this many steps of a computation that touches no memory and reads
/// no clock. The same code for every lock.
void keep_busy(std::uint32_t steps) noexcept;

/// Does so after everything before it, and before everything after it: a processor that executes
/// out of order would hide a lock behind it.
void keep_busy_apart(std::uint32_t steps) noexcept;

/// Returns how many steps of keep_busy_apart() take this long. Takes about 20 ms.
std::uint32_t steps_apart(double length_ns) noexcept;

/// One thread's lengths, taken one after the other, over and over. Each thread has its own copy, so
/// that its place in the table is in a register.
class worker {
 public:
  struct turn {
    std::uint32_t gap_steps = 0;
    std::uint32_t hold_steps = 0;
  };
  /// The turns that are not recorded: 8 KiB a thread, a part of the smallest first-level cache.
  static constexpr unsigned turns = 1024;

  /// Works for no time at all.
  worker() = default;
  /// Takes a table of `turns` turns.
  explicit worker(const turn* table) noexcept : worker{std::span{table, turns}} {}
  explicit worker(std::span<const turn> table, unsigned first = 0) noexcept
      : table_{table.data()}, count_{static_cast<unsigned>(table.size())}, turn_{first} {}

  /// Returns the next turn, for a caller that does the work itself.
  turn take() noexcept {
    if (table_ == nullptr) return {};
    const turn found = table_[turn_];
    go_on();
    return found;
  }
  void stay_away() noexcept {
    if (table_ != nullptr) keep_busy(table_[turn_].gap_steps);
  }
  void hold() noexcept {
    if (table_ == nullptr) return;
    keep_busy(table_[turn_].hold_steps);
    go_on();
  }

 private:
  void go_on() noexcept { turn_ = turn_ + 1 == count_ ? 0 : turn_ + 1; }

  const turn* table_ = nullptr;
  unsigned count_ = 0;
  unsigned turn_ = 0;
};

/// The lengths of all threads of a run. First measures the cost of a step; takes about 2 ms, and no
/// time if there is no work. Must be constructed under the clock of the run.
class workload {
 public:
  workload(const work_request& wanted, unsigned threads, std::uint64_t seed);

  [[nodiscard]] worker of(unsigned thread) const noexcept {
    if (!step_ns_) return worker{};
    return worker{table_of(thread), first_of(thread)};
  }
  /// Returns the measured cost of a step; nullopt if there is no work.
  [[nodiscard]] std::optional<double> step_ns() const noexcept { return step_ns_; }
  /// Returns how long the thread was busy in its first `operations` operations, if no step took
  /// longer than measured.
  [[nodiscard]] double busy_ns(unsigned thread, std::uint64_t operations) const noexcept;

 private:
  [[nodiscard]] bool is_shared() const noexcept { return threads_ != 0; }
  [[nodiscard]] std::span<const worker::turn> table_of(unsigned thread) const noexcept {
    if (is_shared()) return tables_;
    return std::span{tables_}.subspan(std::size_t{thread} * worker::turns, worker::turns);
  }
  /// In a table that all threads share, they start as far apart as possible.
  [[nodiscard]] unsigned first_of(unsigned thread) const noexcept {
    return is_shared() ? static_cast<unsigned>(tables_.size() * thread / threads_) : 0;
  }

  std::optional<double> step_ns_;
  unsigned threads_ = 0;  ///< threads that share one table; 0: each has its own
  std::vector<worker::turn> tables_;
};

/// Returns a table of `worker::turns` turns for each thread, one after the other: each of the given
/// lengths comes once, in random order.
std::vector<worker::turn> shuffled_tables(std::vector<std::uint32_t> gaps,
                                          std::vector<std::uint32_t> holds, unsigned threads,
                                          std::uint64_t seed);

/// Returns the lengths of a thread in steps, in ascending order: equally likely, with the requested
/// mean. Not for recorded lengths.
std::vector<std::uint32_t> steps_of(double mean_steps, lengths kind);

}  // namespace lockyard::harness
