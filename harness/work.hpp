// SPDX-License-Identifier: Apache-2.0
#pragma once

// What threads do while they hold the lock and while they stay away from it: they keep the
// processor busy for lengths that were drawn before the run. docs/studies/throughput.md says how.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lockyard::harness {

enum class lengths : std::uint8_t {
  constant,
  exponential,  ///< of that mean
};

constexpr std::string_view name_of(lengths kind) noexcept {
  return kind == lengths::constant ? "constant" : "exponential";
}

/// Longer ones would not fit a run, and their steps not a word.
inline constexpr double max_work_ns = 1e8;

/// What is asked of each thread.
struct work_request {
  double hold_ns;  ///< with the lock
  double gap_ns;   ///< without it, before each call
  lengths kind;

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
  /// A power of two: 8 KiB a thread, a part of the smallest first-level cache.
  static constexpr unsigned turns = 1024;

  /// Works for no time at all.
  worker() = default;
  explicit worker(const turn* table) noexcept : table_{table} {}

  /// The next turn, for whoever does the work itself.
  turn take() noexcept {
    if (table_ == nullptr) return {};
    const turn found = table_[turn_];
    turn_ = (turn_ + 1) % turns;
    return found;
  }
  void stay_away() noexcept {
    if (table_ != nullptr) keep_busy(table_[turn_].gap_steps);
  }
  void hold() noexcept {
    if (table_ == nullptr) return;
    keep_busy(table_[turn_].hold_steps);
    turn_ = (turn_ + 1) % turns;
  }

 private:
  const turn* table_ = nullptr;
  unsigned turn_ = 0;
};

/// The lengths of all threads of a run. Measures first what a step costs; takes about 2 ms, and no
/// time if there is no work. To be made under the clock of the run.
class workload {
 public:
  workload(const work_request& wanted, unsigned threads, std::uint64_t seed);

  [[nodiscard]] worker of(unsigned thread) const noexcept {
    return tables_.empty() ? worker{}
                           : worker{tables_.data() + std::size_t{thread} * worker::turns};
  }
  /// What a step was found to cost; nothing if there is no work.
  [[nodiscard]] std::optional<double> step_ns() const noexcept { return step_ns_; }

 private:
  std::optional<double> step_ns_;
  std::vector<worker::turn> tables_;
};

/// The lengths of a thread in steps, in the order of their size: equally likely ones, whose mean is
/// the one asked for.
std::vector<std::uint32_t> steps_of(double mean_steps, lengths kind);

}  // namespace lockyard::harness
