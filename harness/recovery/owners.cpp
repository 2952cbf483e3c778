// SPDX-License-Identifier: Apache-2.0

// Owners that do not unlock, and owners whose threads have ended.

#include "../team.hpp"
#include "scenes.hpp"

#include <limits>
#include <vector>

namespace lockyard::harness {

namespace {

/// Longer than the interval between two checks of a waiter.
constexpr double longest_life_ns = 3e6;

struct alignas(detail::arch::interference_size) stuck_call {
  ticks called = 0;
  ticks returned = 0;
  lock_errc answer = lock_errc::acquired;
};

/// Thread 0 holds the lock until all others have given up.
class stuck_owner {
 public:
  stuck_owner(const job& of, const answering_subject& locks)
      : locks_{locks}, row_{locks, 1}, calls_(of.threads), meeting_{of.threads} {}

  thread_span take_part(unsigned thread, loop_limit limit) {
    thread_span span{.first = clock::now()};
    for (;;) {
      if (thread == 0 && locks_.acquire(lock()) != lock_errc::acquired) ++books_.wrong_answers;
      meeting_.await_all();
      if (is_over_) break;
      if (thread != 0) give_up(calls_[thread]);
      meeting_.await_all();
      ++span.operations;
      if (thread == 0) {
        locks_.release(lock());
        close_books_of_round();
        is_over_ = books_.rounds >= limit.operations || clock::now() >= limit.end;
      }
    }
    if (thread == 0) locks_.release(lock());
    span.last = clock::now();
    return span;
  }

  [[nodiscard]] const fault_books& books() const { return books_; }

 private:
  [[nodiscard]] void* lock() const { return row_.at(0); }

  void give_up(stuck_call& mine) {
    mine.called = clock::now();
    mine.answer = locks_.acquire(lock());
    mine.returned = clock::now();
    if (mine.answer == lock_errc::acquired) locks_.release(lock());
  }

  void close_books_of_round() {
    ticks first_call = std::numeric_limits<ticks>::max();
    ticks first_return = std::numeric_limits<ticks>::max();
    ticks last_return = 0;
    for (std::size_t thread = 1; thread < calls_.size(); ++thread) {
      const stuck_call& each = calls_[thread];
      books_.answers.add(each.answer);
      if (each.answer != lock_errc::timed_out) ++books_.wrong_answers;
      first_call = std::min(first_call, each.called);
      first_return = std::min(first_return, each.returned);
      last_return = std::max(last_return, each.returned);
    }
    books_.add(first_call, last_return);
    books_.earliest = std::min(books_.earliest, elapsed(first_call, first_return));
    ++books_.rounds;
  }

  const answering_subject& locks_;
  answering_row row_;
  std::vector<stuck_call> calls_;
  meeting_point meeting_;
  bool is_over_ = false;  ///< written before a meeting and read after it
  fault_books books_;
};

/// Reports the end of its thread. The lock's own such object was constructed later, so it has
/// reported before.
struct farewell {
  std::atomic<bool>* is_gone = nullptr;

  farewell() = default;
  farewell(const farewell&) = delete;
  farewell& operator=(const farewell&) = delete;
  ~farewell() {
    // order[gone]: release; pairs [seen_gone]; publishes the thread's acts.
    if (is_gone != nullptr) is_gone->store(true, std::memory_order_release);
  }
};
thread_local farewell farewell_of_thread;

/// Thread 0 acquires the lock and ends; thread 1 waits for it.
class dying_owner {
 public:
  dying_owner(const job& of, const answering_subject& locks, bool is_waited_for)
      : of_{of}, locks_{locks}, is_waited_for_{is_waited_for}, row_{locks, 1} {}

  /// Runs a round in its own threads, because one of them has to end.
  void run_round() {
    // relaxed(unpublished): there are no threads yet.
    is_held_.store(false, std::memory_order_relaxed);
    // relaxed(unpublished): as above.
    is_waiting_.store(false, std::memory_order_relaxed);
    // relaxed(unpublished): as above.
    is_gone_.store(false, std::memory_order_relaxed);
    run_team(of_, {.before = [](unsigned) {},
                   .gathered = [] {},
                   .loop =
                       [this](unsigned thread, loop_limit) {
                         thread == 0 ? die() : wait();
                         return thread_span{};
                       }});
    close_books_of_round();
  }

  [[nodiscard]] const fault_books& books() const { return books_; }

 private:
  [[nodiscard]] void* lock() const { return row_.at(0); }

  void die() {
    farewell_of_thread.is_gone = &is_gone_;
    if (locks_.acquire(lock()) != lock_errc::acquired) ++books_.wrong_answers;
    // order[held]: release; pairs [seen_held]; publishes only the acquisition itself.
    is_held_.store(true, std::memory_order_release);
    if (is_waited_for_) {
      // order[seen_waiting]: acquire; pairs [waiting]; as above.
      while (!is_waiting_.load(std::memory_order_acquire)) sched_yield();
      pass_part_of(longest_life_ns, books_.rounds);
    }
    ended_ = clock::now();
  }

  void wait() {
    // order[seen_held]: acquire; pairs [held]; as there.
    while (!is_held_.load(std::memory_order_acquire)) sched_yield();
    // order[seen_gone]: acquire; pairs [gone]; as there.
    while (!is_waited_for_ && !is_gone_.load(std::memory_order_acquire)) sched_yield();
    called_ = clock::now();
    // order[waiting]: release; pairs [seen_waiting]; publishes only the call that follows.
    is_waiting_.store(true, std::memory_order_release);
    answer_ = locks_.acquire(lock());
    returned_ = clock::now();
    if (answer_ == lock_errc::acquired) locks_.release(lock());
  }

  /// The lock still belongs to the dead thread; once released, it is free for the next round.
  void close_books_of_round() {
    books_.answers.add(answer_);
    const ticks fault = is_waited_for_ ? ended_ : called_;
    if (answer_ == lock_errc::owner_dead && returned_ > fault) {
      books_.add(fault, returned_);
    } else {
      ++books_.wrong_answers;
    }
    const bool is_released = locks_.release_dead_owner(lock());
    const bool is_released_again = locks_.release_dead_owner(lock());
    books_.each_released_once &= is_released && !is_released_again;
    ++books_.rounds;
  }

  const job& of_;
  const answering_subject& locks_;
  bool is_waited_for_;
  answering_row row_;
  std::atomic<bool> is_held_{false};
  std::atomic<bool> is_waiting_{false};
  std::atomic<bool> is_gone_{false};
  ticks ended_ = 0;
  ticks called_ = 0;
  ticks returned_ = 0;
  lock_errc answer_ = lock_errc::acquired;
  fault_books books_;
};

fault_books die(const job& of, const answering_subject& locks, bool is_waited_for) {
  const auto owner = std::make_unique<dying_owner>(of, locks, is_waited_for);
  const ticks end = clock::now() + clock::from_ns(of.bound.duration_s * 1e9);
  const std::uint64_t most = of.bound.loops.value_or(std::numeric_limits<std::uint64_t>::max());
  do {
    owner->run_round();
  } while (owner->books().rounds < most && clock::now() < end);
  return owner->books();
}

}  // namespace

fault_books outwait(const job& of, const answering_subject& locks) {
  const auto scene = std::make_unique<stuck_owner>(of, locks);
  run_team(of, {.before = [](unsigned) {},
                .gathered = [] {},
                .loop = [&](unsigned thread,
                            loop_limit limit) { return scene->take_part(thread, limit); }});
  return scene->books();
}

fault_books die_waited_for(const job& of, const answering_subject& locks) {
  return die(of, locks, true);
}

fault_books die_unseen(const job& of, const answering_subject& locks) {
  return die(of, locks, false);
}

}  // namespace lockyard::harness
