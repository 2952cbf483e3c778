// SPDX-License-Identifier: Apache-2.0

// Threads that wait for themselves, or for each other.

#include "../team.hpp"
#include "scenes.hpp"

#include <limits>
#include <vector>

namespace lockyard::harness {

namespace {

/// Longer than the interval between two checks of a waiter, so that all its phases are met.
constexpr double longest_pause_ns = 3e6;

/// What a thread did in a round.
struct alignas(detail::arch::interference_size) cycle_call {
  std::atomic<std::uint64_t> begun_in{0};  ///< the number of the round
  ticks called = 0;
  ticks returned = 0;
  lock_errc answer = lock_errc::acquired;
};

/// Threads 0 to n - 1 each hold the lock of their own number and want the next one. Thread n holds
/// nothing and waits for one of these locks.
class cycle_of_threads {
 public:
  cycle_of_threads(const job& of, const answering_subject& locks)
      : size_{of.threads - 1},
        locks_{locks},
        row_{locks, size_},
        calls_(of.threads),
        meeting_{of.threads} {}

  thread_span take_part(unsigned thread, loop_limit limit) {
    thread_span span{.first = clock::now()};
    for (std::uint64_t round = 1;; ++round) {
      const bool holds = thread < size_ && acquire_own(thread);
      meeting_.await_all();
      if (is_over_) {
        if (holds) locks_.release(row_.at(thread));
        break;
      }
      wait_for(wanted_by(thread, round), thread, round);
      if (holds) locks_.release(row_.at(thread));
      meeting_.await_all();
      ++span.operations;
      if (thread == 0) {
        close_books_of_round();
        is_over_ = books_.rounds >= limit.operations || clock::now() >= limit.end;
      }
    }
    span.last = clock::now();
    return span;
  }

  [[nodiscard]] const fault_books& books() const { return books_; }

 private:
  /// The lock must be free: no thread is left that could hold it.
  bool acquire_own(unsigned thread) {
    if (locks_.acquire(row_.at(thread)) == lock_errc::acquired) return true;
    // relaxed(unpublished): the meeting publishes it.
    not_free_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  [[nodiscard]] void* wanted_by(unsigned thread, std::uint64_t round) const {
    return row_.at((thread < size_ ? thread + 1 : round) % size_);
  }

  /// Tells, in every second round, whether this thread closes the cycle when all others wait.
  [[nodiscard]] bool closes(unsigned thread, std::uint64_t round) const {
    return round % 2 == 1 && round / 2 % size_ == thread;
  }

  void wait_for(void* wanted, unsigned thread, std::uint64_t round) {
    cycle_call& mine = calls_[thread];
    if (closes(thread, round)) {
      for (const cycle_call& each : calls_) {
        // relaxed(hint): the wait has probably begun, and nothing depends on it.
        while (&each != &mine && each.begun_in.load(std::memory_order_relaxed) != round) {
          sched_yield();
        }
      }
      pass_part_of(longest_pause_ns, round);
    }
    mine.called = clock::now();
    // relaxed(hint): as above.
    mine.begun_in.store(round, std::memory_order_relaxed);
    mine.answer = locks_.acquire(wanted);
    mine.returned = clock::now();
    if (mine.answer == lock_errc::acquired) locks_.release(wanted);
  }

  /// Called by thread 0 while the others cannot pass the next meeting.
  void close_books_of_round() {
    ticks fault = 0;
    ticks first_error = std::numeric_limits<ticks>::max();
    std::uint64_t victims = 0;
    for (unsigned thread = 0; thread < size_; ++thread) {
      const cycle_call& each = calls_[thread];
      books_.answers.add(each.answer);
      fault = std::max(fault, each.called);
      if (each.answer == lock_errc::acquired) continue;
      if (each.answer != lock_errc::deadlock) ++books_.wrong_answers;
      if (each.answer == lock_errc::deadlock) ++victims;
      first_error = std::min(first_error, each.returned);
    }
    const bool is_told = first_error != std::numeric_limits<ticks>::max();
    if (!is_told || first_error <= fault) {  // or an error came before there was a cycle
      ++books_.wrong_answers;
    } else if (victims > 0) {
      books_.add(fault, first_error);
    }
    books_.victims += victims;
    books_.answers.add(calls_[size_].answer);
    if (calls_[size_].answer != lock_errc::acquired) ++books_.innocents_harmed;
    // relaxed(owner): all others wait for this thread.
    books_.wrong_answers += not_free_.exchange(0, std::memory_order_relaxed);
    ++books_.rounds;
  }

  unsigned size_;
  const answering_subject& locks_;
  answering_row row_;
  std::vector<cycle_call> calls_;
  meeting_point meeting_;
  std::atomic<std::uint64_t> not_free_{0};
  bool is_over_ = false;  ///< written before a meeting and read after it
  fault_books books_;
};

}  // namespace

fault_books close_cycles(const job& of, const answering_subject& locks) {
  const auto cycle = std::make_unique<cycle_of_threads>(of, locks);
  run_team(of, {.before = [](unsigned) {},
                .gathered = [] {},
                .loop = [&](unsigned thread,
                            loop_limit limit) { return cycle->take_part(thread, limit); }});
  return cycle->books();
}

fault_books lock_again(const job& of, const answering_subject& locks) {
  const answering_row row{locks, 1};
  fault_books books;
  const auto loop = [&](unsigned, loop_limit limit) {
    thread_span span{.first = clock::now()};
    span.last = span.first;
    void* const lock = row.at(0);
    while (books.rounds == 0 || (books.rounds < limit.operations && span.last < limit.end)) {
      if (locks.acquire(lock) != lock_errc::acquired) ++books.wrong_answers;
      const ticks called = clock::now();
      const lock_errc answer = locks.acquire(lock);
      span.last = clock::now();
      if (answer == lock_errc::acquired) locks.release(lock);
      locks.release(lock);
      books.answers.add(answer);
      if (answer == lock_errc::deadlock) {
        books.add(called, span.last);
      } else {
        ++books.wrong_answers;
      }
      ++books.rounds;
    }
    span.operations = books.rounds;
    return span;
  };
  run_team(of, {.before = [](unsigned) {}, .gathered = [] {}, .loop = loop});
  return books;
}

}  // namespace lockyard::harness
