// SPDX-License-Identifier: Apache-2.0
#pragma once

// The scenarios of the study recovery and their books. docs/studies/recovery.md describes them.

#include "../clock.hpp"
#include "../histogram.hpp"
#include "../job.hpp"
#include "../study.hpp"
#include "../subject.hpp"

#include <lockyard/detail/arch.hpp>
#include <lockyard/resilience.hpp>
#include <lockyard/resilient/lock_result.hpp>

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockyard::harness {

/// A lock whose lock() reports errors, without its type.
struct answering_subject {
  subject of;
  lock_errc (*acquire)(void* lock);
  bool (*release_dead_owner)(void* lock);
  stall_limits (*limits)();

  void release(void* lock) const { of.operations.unlock(lock); }
};

/// Several of them in a row.
class answering_row {
 public:
  answering_row(const answering_subject& of, std::size_t count)
      : spacing_{of.of.operations.spacing}, row_{of.of, count} {}

  [[nodiscard]] void* at(std::size_t index) const noexcept {
    return static_cast<std::byte*>(row_.first()) + index * spacing_;
  }

 private:
  std::size_t spacing_;
  lock_row row_;
};

/// How often lock() gave which answer.
class answer_counts {
 public:
  void add(lock_errc answer) noexcept { ++counts_[static_cast<std::size_t>(answer)]; }
  void merge(const answer_counts& others) noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += others.counts_[i];
  }
  /// Returns the number of all answers but `acquired`.
  [[nodiscard]] std::uint64_t errors() const noexcept;
  [[nodiscard]] nlohmann::ordered_json to_json() const;

 private:
  std::array<std::uint64_t, static_cast<std::size_t>(lock_errc::nested_busy) + 1> counts_{};
};

/// The books of a run that provokes faults, again and again.
struct fault_books {
  histogram recovery;  ///< a value for each round
  ticks longest = 0;
  std::uint64_t rounds = 0;
  std::uint64_t victims = 0;
  std::uint64_t innocents_harmed = 0;
  std::uint64_t wrong_answers = 0;
  ticks earliest = ~ticks{0};  ///< the shortest time from the first call to the first return
  bool each_released_once = true;
  answer_counts answers;

  void add(ticks fault, ticks error) {
    recovery.add(elapsed(fault, error));
    longest = std::max(longest, elapsed(fault, error));
  }
};

/// Where the threads of a round wait for each other: awake at first, so that they continue
/// together.
class meeting_point {
 public:
  explicit meeting_point(unsigned threads) : threads_{threads}, missing_{threads} {}

  void await_all() noexcept {
    // relaxed(revalidated): it cannot change before this thread has arrived.
    const std::uint32_t turn = turn_.load(std::memory_order_relaxed);
    // order[met]: acq_rel; pairs [met]; the last thread sees what all have written.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      // relaxed(unpublished): the turn publishes it.
      missing_.store(threads_, std::memory_order_relaxed);
      // order[turn]: release; pairs [seen_turn, slept_turn]; publishes what all have written.
      turn_.store(turn + 1, std::memory_order_release);
      turn_.notify_all();
      return;
    }
    for (unsigned looks = 0; looks < looks_awake; ++looks) {
      // order[seen_turn]: acquire; pairs [turn]; as there.
      if (turn_.load(std::memory_order_acquire) != turn) return;
      sched_yield();
    }
    // order[slept_turn]: acquire; pairs [turn]; as there.
    turn_.wait(turn, std::memory_order_acquire);
  }

 private:
  static constexpr unsigned looks_awake = 200;

  unsigned threads_;
  alignas(detail::arch::interference_size) std::atomic<unsigned> missing_;
  alignas(detail::arch::interference_size) std::atomic<std::uint32_t> turn_{0};
};

/// Lets the processor do other things for a part of `most`: a different part in each round, and all
/// parts equally often over many rounds.
void pass_part_of(double most_ns, std::uint64_t round);

/// A thread locks a lock that it holds.
fault_books lock_again(const job& of, const answering_subject& locks);
/// All threads but one wait for each other; the last one waits for one of them.
fault_books close_cycles(const job& of, const answering_subject& locks);
/// One thread holds a lock until all others have given up.
fault_books outwait(const job& of, const answering_subject& locks);
/// A thread ends while it holds a lock that another thread waits for, or will wait for.
fault_books die_waited_for(const job& of, const answering_subject& locks);
fault_books die_unseen(const job& of, const answering_subject& locks);

/// All threads acquire several locks at a time, in one order, or in any order under a gate lock.
outcome keep_order(const job& of, const answering_subject& locks);
outcome pass_gate(const job& of, const answering_subject& locks);

}  // namespace lockyard::harness
