// SPDX-License-Identifier: Apache-2.0
#pragma once

// What threads do while they hold the lock and while they stay away from it: they keep the
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
  exponential,  ///< of that mean
  bimodal,      ///< one in ten is ten times as long as the others; of that mean
  recorded,     ///< as somebody found them
};

inline constexpr std::array all_lengths{lengths::constant, lengths::exponential, lengths::bimodal,
                                        lengths::recorded};

constexpr std::string_view name_of(lengths kind) noexcept {
  return std::array<std::string_view, all_lengths.size()>{
      "constant", "exponential", "bimodal", "recorded"}[static_cast<std::size_t>(kind)];
}

/// What a thread did once, of lengths that were recorded.
struct recorded_turn {
  double gap_ns;
  double hold_ns;
};
/// More would not fit a first-level cache, nor a job a pipe at once.
inline constexpr std::size_t max_recorded_turns = 16'384;

/// Longer ones would not fit a run, and their steps not a word.
inline constexpr double max_work_ns = 1e8;

/// What is asked of each thread.
struct work_request {
  double hold_ns;  ///< with the lock; the mean
  double gap_ns;   ///< without it, before each call; the mean
  lengths kind;
  /// Of lengths that were recorded; else none.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where it is left out
  std::vector<recorded_turn> recording{};

  [[nodiscard]] bool is_none() const noexcept { return hold_ns == 0 && gap_ns == 0; }
};

/// Keeps the processor for so many steps of a computation that touches no memory and reads no
/// clock. The same code for every lock.
void keep_busy(std::uint32_t steps) noexcept;

/// The same after all that came before, and before all that comes after: a processor that executes
/// out of order would hide a lock behind it.
void keep_busy_apart(std::uint32_t steps) noexcept;

/// How many steps keep the processor busy, apart, for so long. Takes about 20 ms.
std::uint32_t steps_apart(double length_ns) noexcept;

/// One thread's lengths, taken one after the other, over and over. Each thread has a copy of its
/// own, so that its place in the table is in a register.
class worker {
 public:
  struct turn {
    std::uint32_t gap_steps = 0;
    std::uint32_t hold_steps = 0;
  };
  /// Of lengths that are not recorded: 8 KiB a thread, a part of the smallest first-level cache.
  static constexpr unsigned turns = 1024;

  /// Works for no time at all.
  worker() = default;
  /// Of so many as `turns`.
  explicit worker(const turn* table) noexcept : worker{std::span{table, turns}} {}
  explicit worker(std::span<const turn> table, unsigned first = 0) noexcept
      : table_{table.data()}, count_{static_cast<unsigned>(table.size())}, turn_{first} {}

  /// The next turn, for whoever does the work itself.
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

/// The lengths of all threads of a run. Measures first what a step costs; takes about 2 ms, and no
/// time if there is no work. To be made under the clock of the run.
class workload {
 public:
  workload(const work_request& wanted, unsigned threads, std::uint64_t seed);

  [[nodiscard]] worker of(unsigned thread) const noexcept {
    if (!step_ns_) return worker{};
    return worker{table_of(thread), first_of(thread)};
  }
  /// What a step was found to cost; nothing if there is no work.
  [[nodiscard]] std::optional<double> step_ns() const noexcept { return step_ns_; }
  /// How long the thread was busy in its first so many operations, if no step took longer than it
  /// was found to.
  [[nodiscard]] double busy_ns(unsigned thread, std::uint64_t operations) const noexcept;

 private:
  [[nodiscard]] bool is_shared() const noexcept { return threads_ != 0; }
  [[nodiscard]] std::span<const worker::turn> table_of(unsigned thread) const noexcept {
    if (is_shared()) return tables_;
    return std::span{tables_}.subspan(std::size_t{thread} * worker::turns, worker::turns);
  }
  /// In a table that all threads share they are as far apart as can be.
  [[nodiscard]] unsigned first_of(unsigned thread) const noexcept {
    return is_shared() ? static_cast<unsigned>(tables_.size() * thread / threads_) : 0;
  }

  std::optional<double> step_ns_;
  unsigned threads_ = 0;  ///< that share the one table; 0: each has its own
  std::vector<worker::turn> tables_;
};

/// A table of `worker::turns` turns for each thread, one after the other: each of the given lengths
/// comes once, in an order of chance.
std::vector<worker::turn> shuffled_tables(std::vector<std::uint32_t> gaps,
                                          std::vector<std::uint32_t> holds, unsigned threads,
                                          std::uint64_t seed);

/// The lengths of a thread in steps, in the order of their size: equally likely ones, whose mean is
/// the one asked for. Not of recorded ones.
std::vector<std::uint32_t> steps_of(double mean_steps, lengths kind);

}  // namespace lockyard::harness
