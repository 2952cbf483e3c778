// SPDX-License-Identifier: Apache-2.0

// Threads that hold several locks at a time and cannot deadlock: every error is a false positive.

#include "../closing_time.hpp"
#include "../random.hpp"
#include "../team.hpp"
#include "scenes.hpp"

#include <bit>
#include <memory>
#include <numeric>
#include <span>

namespace lockyard::harness {

namespace {

constexpr unsigned locks_of_traffic = 8;
constexpr unsigned fewest_held = 2;
constexpr unsigned most_held = 4;

/// The locks that a thread acquires next.
class next_locks {
 public:
  explicit next_locks(std::uint64_t seed) : draws_{seed} {
    std::iota(places_.begin(), places_.end(), 0U);
  }

  std::span<const unsigned> next(bool ascending) {
    const unsigned count = below(most_held - fewest_held + 1) + fewest_held;
    std::uint32_t chosen = 0;
    for (unsigned i = 0; i < count; ++i) {
      std::swap(places_[i], places_[i + below(locks_of_traffic - i)]);
      next_[i] = places_[i];
      chosen |= 1U << places_[i];
    }
    for (unsigned i = 0; ascending && i < count; ++i) {
      next_[i] = static_cast<unsigned>(std::countr_zero(chosen));
      chosen &= chosen - 1;
    }
    return {next_.data(), count};
  }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(draws_.next() >> 32U) % limit; }

  xorshift draws_;
  std::array<unsigned, locks_of_traffic> places_;  ///< all of them
  std::array<unsigned, most_held> next_{};
};

struct alignas(detail::arch::interference_size) counted {
  std::uint64_t value = 0;
};

/// One thread's own books.
struct alignas(detail::arch::interference_size) traffic_log {
  std::array<std::uint64_t, locks_of_traffic> acquired{};
  answer_counts answers;
};

class traffic {
 public:
  traffic(const job& of, const answering_subject& locks, bool is_gated)
      : seed_{of.seed},
        is_gated_{is_gated},
        locks_{locks},
        row_{locks, locks_of_traffic + 1},
        closing_{of.work},
        logs_{std::make_unique<traffic_log[]>(of.threads)} {}

  thread_span take_part(unsigned thread, loop_limit limit) {
    traffic_log& log = logs_[thread];
    next_locks wanted{mixed(seed_) + thread};
    thread_span span{.first = clock::now()};
    for (std::uint64_t round = 0;
         span.operations < limit.operations && !closing_.has_come(round, limit.end); ++round) {
      span.operations += pass(wanted.next(!is_gated_), round, log);
    }
    span.last = clock::now();
    return span;
  }

  /// Adds a thread's books; the protected counters must equal the sum of all threads' counts.
  void merge(unsigned thread, traffic_log& all) const {
    all.answers.merge(logs_[thread].answers);
    for (unsigned i = 0; i < locks_of_traffic; ++i) all.acquired[i] += logs_[thread].acquired[i];
  }
  [[nodiscard]] bool is_exact(const traffic_log& all) const {
    return std::ranges::equal(all.acquired, protected_, {}, {}, &counted::value);
  }

 private:
  [[nodiscard]] void* gate() const { return row_.at(locks_of_traffic); }

  bool acquire(void* lock, traffic_log& log) {
    const lock_errc answer = locks_.acquire(lock);
    log.answers.add(answer);
    return answer == lock_errc::acquired;
  }

  /// A thread that waits for a lock behind the gate holds the gate: the owners of the lock that it
  /// wants wait for nothing. Returns the number of acquisitions.
  std::uint64_t pass(std::span<const unsigned> wanted, std::uint64_t round, traffic_log& log) {
    if (is_gated_ && !acquire(gate(), log)) return 0;
    std::size_t held = 0;
    while (held < wanted.size() && acquire(row_.at(wanted[held]), log)) {
      const unsigned place = wanted[held++];
      protected_[place].value = protected_[place].value + 1;
      ++log.acquired[place];
    }
    if (is_gated_) locks_.release(gate());
    for (std::size_t i = 0; i < held; ++i)
      locks_.release(row_.at(wanted[round % 2 == 0 ? held - 1 - i : i]));
    return held + (is_gated_ ? 1 : 0);
  }

  std::uint64_t seed_;
  bool is_gated_;
  const answering_subject& locks_;
  answering_row row_;
  closing_time closing_;
  std::array<counted, locks_of_traffic> protected_{};
  std::unique_ptr<traffic_log[]> logs_;
};

outcome measure_traffic(const job& of, const answering_subject& locks, bool is_gated) {
  traffic scene{of, locks, is_gated};
  const team_run run = run_team(
      of,
      {.before = [](unsigned) {},
       .gathered = [] {},
       .loop = [&](unsigned thread, loop_limit limit) { return scene.take_part(thread, limit); }});
  traffic_log all;
  for (unsigned thread = 0; thread < of.threads; ++thread) scene.merge(thread, all);
  outcome result{.values = run.values(of)};
  result.values["false_positives"] = all.answers.errors();
  result.values["answers"] = all.answers.to_json();
  result.checks["no_false_positive"] = all.answers.errors() == 0;
  result.checks["counter"] = scene.is_exact(all);
  return result;
}

}  // namespace

outcome keep_order(const job& of, const answering_subject& locks) {
  return measure_traffic(of, locks, false);
}

outcome pass_gate(const job& of, const answering_subject& locks) {
  return measure_traffic(of, locks, true);
}

}  // namespace lockyard::harness
