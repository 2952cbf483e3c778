// SPDX-License-Identifier: Apache-2.0
#pragma once

// Contenders: threads that want one lock in some phases of a run, and their books.

#include "closing_time.hpp"
#include "loops/bystander.hpp"
#include "ownership.hpp"
#include "phases.hpp"
#include "subject.hpp"
#include "team.hpp"
#include "work.hpp"

#include <time.h>

#include <array>
#include <cstdint>
#include <memory>

namespace lockyard::harness {

/// One thread's figures for all phases of one kind.
struct phase_books {
  std::uint64_t operations = 0;
  double cpu_ns = 0;
};

/// Separated from every other thread's.
template <unsigned Kinds>
struct alignas(detail::arch::interference_size) books_of_kinds {
  std::array<phase_books, Kinds> of;

  /// Does the work of a phase; `work` returns the number of operations.
  template <class Work>
  void keep(unsigned kind, Work work) {
    const double before_ns = harness::cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    of[kind].operations += work();
    of[kind].cpu_ns += harness::cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
  }
  void merge(const books_of_kinds& others) noexcept {
    for (unsigned kind = 0; kind < Kinds; ++kind) {
      of[kind].operations += others.of[kind].operations;
      of[kind].cpu_ns += others.of[kind].cpu_ns;
    }
  }
};

/// What the contenders share besides the lock.
struct contended_state {
  void* lock;
  ownership& state;
  phases& stage;
  const closing_time& looks;
  std::uint64_t loops;  ///< operations of a thread after which it ends the phase
};

/// One thread's part in a phase: it locks and unlocks until the phase is over, and returns how
/// often. At `end` it ends the phase itself.
using locking_phase = std::uint64_t(const contended_state& on, worker& work, unsigned thread,
                                    const phases::phase& in, ticks end);

/// A thread of this machine in such a phase.
struct phase_contender {
  [[nodiscard]] bool lasts() const noexcept { return on.stage.lasts(in); }
  [[nodiscard]] bool is_overdue() const noexcept {
    if (done >= on.loops) return true;
    return on.looks.looks_before(done) && clock::now_early() >= end;
  }
  void end_phase() const noexcept { on.stage.end(in); }
  void stay_away() noexcept { own.stay_away(); }
  void enter() const noexcept { on.state.enter(thread); }
  void hold() noexcept { own.hold(); }
  void complete() noexcept { ++done; }

  const contended_state& on;
  const phases::phase& in;
  ticks end;
  unsigned thread;
  worker own;
  std::uint64_t done = 0;
};

template <class Lock>
[[gnu::noinline]] std::uint64_t lock_through(const contended_state& on, worker& work,
                                             unsigned thread, const phases::phase& in, ticks end) {
  phase_contender self{on, in, end, thread, work};
  loops::contend_through(*static_cast<Lock*>(on.lock), self);
  work = self.own;
  return self.done;
}

/// What the threads share in a run whose phases have several kinds, and each thread's books.
template <unsigned Kinds>
struct phased_contenders {
  phased_contenders(const job& of, const subject& lock, const work_request& lengths)
      : place{lock, of.seed},
        work{lengths, of.threads, of.seed},
        looks{lengths},
        stage{of.threads, Kinds, of.bound.duration_s * 1e9, of.seed},
        books{std::make_unique<books_of_kinds<Kinds>[]>(of.threads)} {}

  [[nodiscard]] contended_state scene(std::uint64_t loops) noexcept {
    return {.lock = place.lock(),
            .state = place.data(),
            .stage = stage,
            .looks = looks,
            .loops = loops};
  }
  /// Runs a thread: calls `take_part(in, work)` in each phase. The caller counts the operations.
  template <class Part>
  thread_span go_through(unsigned thread, Part take_part) {
    thread_span span{.first = clock::now()};
    worker own = work.of(thread);
    for (unsigned number = 0; const auto in = stage.await(number); ++number) take_part(*in, own);
    span.last = clock::now();
    return span;
  }
  /// Returns the books of the threads from `first` to before `end`, after all of them have ended.
  [[nodiscard]] books_of_kinds<Kinds> books_of(unsigned first, unsigned end) const noexcept {
    books_of_kinds<Kinds> sum;
    for (unsigned thread = first; thread < end; ++thread) sum.merge(books[thread]);
    return sum;
  }

  arena<ownership> place;
  workload work;
  closing_time looks;
  phases stage;
  std::unique_ptr<books_of_kinds<Kinds>[]> books;
};

/// Returns null if the quotient is undefined.
inline nlohmann::ordered_json quotient(double of, double by) {
  return by > 0 ? nlohmann::ordered_json(of / by) : nlohmann::ordered_json(nullptr);
}

}  // namespace lockyard::harness
