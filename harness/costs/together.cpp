// SPDX-License-Identifier: Apache-2.0
#include "../team.hpp"
#include "costs.hpp"

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/os.hpp>

#include <sched.h>

#include <atomic>
#include <functional>
#include <latch>
#include <list>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace lockyard::harness {

namespace {

/// How long a sleeper stays asleep before it is woken.
constexpr double asleep_ns = 20e3;
constexpr unsigned round_trips_in_a_row = 50;

/// A word with its data, in separate cache lines.
struct alignas(detail::arch::interference_size) slot {
  std::atomic<std::uint32_t> word{0};
  std::atomic<ticks> stamp{0};
};

/// A thread on a given core. The constructor waits until it runs there, the destructor until it
/// ends.
class partner {
 public:
  partner(const job& of, int cpu, const std::function<void()>& work) {
    try {
      thread_ = std::jthread{[&, cpu, work] {
        try {
          take_place(of, {cpu});
        } catch (const condition_error& error) {
          failure_ = error.what();
        }
        there_.count_down();
        if (!failure_) work();
      }};
    } catch (const std::system_error& error) {
      throw condition_error{std::string{"a second thread cannot be started ("} + error.what() +
                            "), so nothing was measured; raise the limit of processes"};
    }
    there_.wait();
    if (failure_) throw condition_error{*failure_};
  }

 private:
  std::latch there_{1};
  std::optional<std::string> failure_;
  std::jthread thread_;
};

class stop_flag {
 public:
  // relaxed(hint): a partner that sees it late ends late.
  void raise() noexcept { raised_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_raised() const noexcept {
    // relaxed(hint): as above.
    return raised_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> raised_{false};
};

/// Ends companions before they are joined, even if an exception ends the measurement: must be
/// declared after them.
class stop_at_exit {
 public:
  explicit stop_at_exit(stop_flag& flag) : flag_{flag} {}
  stop_at_exit(const stop_at_exit&) = delete;
  stop_at_exit& operator=(const stop_at_exit&) = delete;
  ~stop_at_exit() { flag_.raise(); }

 private:
  stop_flag& flag_;
};

/// What a sleeper finds when the word has changed: the value, and whether it slept until then.
struct waking {
  std::uint32_t value;
  bool slept;
};

/// Sleeps until the word is no longer `seen`.
waking sleep_while(const slot& on, std::uint32_t seen) {
  for (bool has_slept = false;;) {
    // order[woken]: acquire; pairs [handed_over]; makes the other's stamp readable.
    const std::uint32_t value = on.word.load(std::memory_order_acquire);
    if (value != seen) return {.value = value, .slept = has_slept};
    has_slept = detail::os::futex_wait(&on.word, seen, nullptr) == detail::os::wait_result::woken;
  }
}

/// Stamps, changes the word, and wakes the threads that sleep on it.
void wake_with_stamp(slot& on, std::uint32_t value) {
  // relaxed(unpublished): the store to the word publishes it.
  on.stamp.store(clock::now(), std::memory_order_relaxed);
  // order[handed_over]: release; pairs [woken]; publishes the stamp.
  on.word.store(value, std::memory_order_release);
  detail::os::futex_wake(&on.word, 1);
}

constexpr std::uint32_t over = UINT32_MAX;

/// Measures two threads on one core that wake each other and sleep: from the call of wake to the
/// return of the other thread's wait. A turn in which the other thread did not sleep is dropped.
cost wake_up_on_one_core(const job& of, int cpu, double share_ns) {
  cost found{"wake_same_core", 1};
  slot there;
  slot back;
  const partner sleeper{of, cpu, [&] {
                          for (waking last{}; last.value != over;) {
                            last = sleep_while(there, last.value);
                            wake_with_stamp(back, last.value);
                          }
                        }};
  const ticks end = clock::now() + clock::from_ns(share_ns);
  for (std::uint32_t turn = 1; clock::now() < end; ++turn) {
    wake_with_stamp(there, turn);
    const waking woken = sleep_while(back, turn - 1);
    const ticks now = clock::now();
    // relaxed(locked): the turn is ours, so the sleeper does not write.
    if (woken.slept) found.add(elapsed(back.stamp.load(std::memory_order_relaxed), now));
  }
  wake_with_stamp(there, over);
  return found;
}

/// One of two threads on a core that yield to each other forever.
class yielder {
 public:
  yielder(slot& mine, const slot& others) : mine_{mine}, others_{others} {}

  /// Yields once; returns when the call began, and when the other thread's last call began.
  struct turn {
    ticks called;
    ticks returned;
    ticks others_call;
  };
  turn yield() const noexcept {
    const ticks called = clock::now();
    // relaxed(hint): both threads run on one core, which sees its own stores.
    mine_.stamp.store(called, std::memory_order_relaxed);
    sched_yield();
    // relaxed(hint): as above.
    const ticks others_call = others_.stamp.load(std::memory_order_relaxed);
    return {.called = called, .returned = clock::now(), .others_call = others_call};
  }

 private:
  slot& mine_;
  const slot& others_;
};

/// Measures a yield next to another runnable thread, from call to return; and a context switch,
/// from one thread's call of yield to the other's return. A yield that did not switch is dropped.
std::vector<cost> yields_on_one_core(const job& of, int cpu, double share_ns) {
  cost with_company{"yield_with_company", 1};
  cost context_switch{"context_switch", 1};
  slot mine;
  slot others;
  stop_flag stop;
  const partner other{of, cpu, [&] {
                        while (!stop.is_raised()) yielder{others, mine}.yield();
                      }};
  const stop_at_exit at_exit{stop};
  const ticks end = clock::now() + clock::from_ns(share_ns);
  for (ticks now = 0; now < end;) {
    const yielder::turn turn = yielder{mine, others}.yield();
    now = turn.returned;
    with_company.add(elapsed(turn.called, turn.returned));
    if (turn.others_call > turn.called) {
      context_switch.add(elapsed(turn.others_call, turn.returned));
    }
  }
  std::vector<cost> found;
  found.push_back(std::move(with_company));
  found.push_back(std::move(context_switch));
  return found;
}

/// Waits until a thread on another core stores a value, or until the end.
std::uint32_t spin_until(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  for (;;) {
    // order[line_seen]: acquire; pairs [line_sent]; orders this turn after the partner's.
    const std::uint32_t seen = word.load(std::memory_order_acquire);
    if (seen == value || seen == over) return seen;
    detail::arch::pause();
  }
}

void send(std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  // order[line_sent]: release; pairs [line_seen]; publishes the stamp next to it, if there is one.
  word.store(value, std::memory_order_release);
}

}  // namespace

std::vector<cost> costs_on_one_core(const job& of, int cpu, double share_ns) {
  take_place(of, {cpu});
  std::vector<cost> all = yields_on_one_core(of, cpu, share_ns);
  all.push_back(wake_up_on_one_core(of, cpu, share_ns));
  return all;
}

cost wake_up_on_other_core(const job& of, int cpu, int other, double share_ns) {
  take_place(of, {cpu});
  cost found{"wake_other_core", 1};
  slot there;
  slot back;
  std::atomic<bool> was_asleep{false};
  const partner sleeper{of, other, [&] {
                          for (waking last{}; last.value != over;) {
                            last = sleep_while(there, last.value);
                            // relaxed(unpublished): sending the turn publishes both.
                            back.stamp.store(clock::now(), std::memory_order_relaxed);
                            // relaxed(unpublished): as above.
                            was_asleep.store(last.slept, std::memory_order_relaxed);
                            send(back.word, last.value);
                          }
                        }};
  const ticks end = clock::now() + clock::from_ns(share_ns);
  for (std::uint32_t turn = 1; clock::now() < end; ++turn) {
    wait_busily(asleep_ns);
    wake_with_stamp(there, turn);
    spin_until(back.word, turn);
    // relaxed(locked): the turn is ours, so the sleeper does not write.
    if (!was_asleep.load(std::memory_order_relaxed)) continue;
    // relaxed(locked): as above.
    found.add(elapsed(there.stamp.load(std::memory_order_relaxed),
                      // relaxed(locked): as above.
                      back.stamp.load(std::memory_order_relaxed)));
  }
  wake_with_stamp(there, over);
  return found;
}

cost membarrier_among_siblings(const job& of, const std::vector<int>& cpus, double share_ns) {
  take_place(of, cpus);
  if (!detail::os::membarrier_register()) return {"membarrier_with_siblings", 1};
  stop_flag stop;
  std::list<partner> siblings;
  const stop_at_exit at_exit{stop};
  const auto stay_busy = [&stop] {
    while (!stop.is_raised()) detail::arch::pause();
  };
  for (std::size_t i = 1; i < cpus.size(); ++i) siblings.emplace_back(of, cpus[i], stay_busy);
  return time_operation("membarrier_with_siblings", 1, share_ns, [] { detail::os::membarrier(); });
}

cost line_round_trip(const job& of, int cpu, int other, double share_ns) {
  take_place(of, {cpu});
  cost found{"line_round_trip", round_trips_in_a_row};
  slot ball;
  const partner player{of, other, [&] {
                         for (std::uint32_t turn = 1; spin_until(ball.word, turn) != over;
                              turn += 2) {
                           send(ball.word, turn + 1);
                         }
                       }};
  std::uint32_t turn = 0;
  const ticks end = clock::now() + clock::from_ns(share_ns);
  do {
    const ticks before = clock::now();
    for (unsigned i = 0; i < round_trips_in_a_row; ++i) {
      send(ball.word, ++turn);
      spin_until(ball.word, ++turn);
    }
    found.add(clock::now() - before);
  } while (clock::now() < end);
  send(ball.word, over);
  return found;
}

}  // namespace lockyard::harness
