// SPDX-License-Identifier: Apache-2.0

// Futexes. Sleeps look at the newest value, and wakes meet the sleepers that are there, so they are
// steps whose order counts, where the result of a call matters: whether the thread has slept, or
// how many it has woken.
//
// Where no result matters, a sleep that waits for another value is the same as in notified.cpp: a
// spin, or it lasts forever, or a wake reaches it that another sleeper would need. Only, the caller
// looks again when it wakes up, not the model: the call returns at once, whatever the word holds,
// and the caller's loop is recognised as a spin. A loop that writes in each turn is not. There the
// call returns once the word has another value, or, as a fourth choice, for no reason. A sleep with
// a time limit does not last forever, and has a deadline where the caller's loop writes.

#include "events.hpp"
#include "execution.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace lockyard::model {

namespace {

enum decision : std::uint8_t { spins, sleeps_forever, sleeps_for_another, wakes_for_no_reason };

}  // namespace

/// Whether a mutant leaves the wake out.
bool execution::drops_wake(std::source_location where) {
  if (sites_ != nullptr) {
    sites_->insert({.where = site::of(where, wake_argument), .order = std::memory_order_relaxed});
  }
  const mutation* const planted = settings_.planted;
  return planted != nullptr && planted->is_at(where, wake_argument);
}

/// The kernel's look is coherent with the thread's own. On its own it orders nothing; Linux
/// promises in kernel/futex/waitwake.c that a full barrier comes before it, so that a thread that
/// changes the word and then reads a number of waiters misses no one.
void execution::look_as_kernel(const futex_wait& of) {
  if (!of.has_barrier) return;
  event(fenced, static_cast<std::uint64_t>(std::memory_order_seq_cst), 0);
  memory_.fence(me().known, std::memory_order_seq_cst, this_event());
}

sleep_end execution::sleep(const futex_wait& of, std::source_location where) {
  if (compares_states_) clear_dead_stack();
  if (of.lies.address == nullptr) return sleep_now(of, where);
  futex_wait found = of;
  found.on = find_word(of.lies, where);
  return sleep_now(found, where);
}

[[gnu::noinline]] sleep_end execution::sleep_now(const futex_wait& of, std::source_location where) {
  const auto on = of.on;
  // Where all orders of steps are searched, or some of them at random, each sleep is a step.
  const bool may_spin = !of.result_matters && !of.deadline && of.bits == any_bit;
  if (may_spin && is_repeated(reduces() && memory_.at(on).users.counters == 0 &&
                              (!of.has_limit || sleeps_free(on)))) {
    return sleep_or_spin(of, where);
  }
  const auto deadline = of.has_limit ? std::optional{new_deadline(passes::early)} : of.deadline;
  step_point({.does = upcoming::sleeps, .where = on, .address = memory_.at(on).lies.address});
  if (!of.may_end) check_alive(on, where);
  note_newest(on);
  const location& at = memory_.at(on);
  const message& newest = at.newest();
  const bool sleeps = newest.value == of.expected;
  look_as_kernel(of);
  event(sleeps ? slept : not_slept, at.name, newest.by.name());
  memory_.read(me().known, on, at.order.back(), std::memory_order_relaxed, this_event());
  if (account_ != nullptr) {
    candidates_.clear();
    tell(where,
         (sleeps ? "sleeps on " : "does not sleep on ") + described(on) + ": " +
             text_of(on, newest.value) + by_whom(newest),
         {.kind = sleeps ? "sleep" : "no sleep", .word = on, .read = at.order.back()});
  }
  thread_record& thread = me();
  if (!sleeps) {
    note_read(on, at.order.back());
    return sleep_end::changed;
  }
  note_queue(at.lies.address, queue_use::joins);
  learn_beside_waiters(&word_users::sleepers, on);
  thread.sleeps_on = on;
  thread.sleeps_with = at.order.back();
  thread.sleeps_for = of.bits;
  thread.sleeps_on_what_may_end = of.may_end;
  thread.deadline = deadline;
  thread.woken_by = sleep_end::woken;
  sleepers_[on].push_back(running_);
  begin_sleep();
  block(status::sleeping);
  thread.sleeps_on_what_may_end = false;
  thread.reads.clear();
  thread.deadline.reset();
  thread.timed_out = false;
  event(woke_up, static_cast<std::uint64_t>(thread.woken_by), 0);
  if (account_ != nullptr) {
    const char* const by_nothing = thread.has_woken_idly ? "wakes up spuriously" : "wakes up";
    tell(where, thread.woken_by == sleep_end::timed_out ? "its deadline passes" : by_nothing);
  }
  return thread.woken_by;
}

/// Whether a sleep whose result does not matter returns at once.
bool execution::sleeps_free(location_index on) const {
  return name_of_memory != nullptr && memory_.at(on).users.turners == 0;
}

/// A sleep whose result does not matter to its caller.
sleep_end execution::sleep_or_spin(const futex_wait& of, std::source_location where) {
  thread_record& thread = me();
  if (thread.rushes) event(paused, 2, 0);  // ends the rush
  learn_user(&word_users::waiters, of.on);
  const bool is_free = is_repeated(sleeps_free(of.on));
  const location& word = memory_.at(of.on);
  const message_index known = word.order[memory_.oldest_place(of.on, me().known)];
  std::optional<read_before> seen;
  if (word.messages[known].value == of.expected) seen = read_before{of.on, known};
  if (is_free && ++thread.repeats.turns_in_kernel > 16) learn_user(&word_users::turners, of.on);
  if (is_free && seen && thread.repeats.waited_with == seen) return sleep_end::changed;
  thread.repeats.waited_with = seen;
  const bool in_order = is_repeated(counts_order_of_sleeps(of.on));
  std::array<decision, 4> decisions{spins};
  std::size_t count = 1;
  if (!of.has_limit) decisions[count++] = sleeps_forever;
  if (in_order) decisions[count++] = sleeps_for_another;
  if (!is_free) {
    if (spurious_left_ > 0) {
      decisions[count++] = wakes_for_no_reason;
    } else {
      reach(cap::spurious_wakes);
    }
  }
  const decision does = decisions[choose(choice_kind::time, count, where)];
  if (std::exchange(thread.repeats.spun_after, thread.events) != thread.events) {
    thread.repeats.spins_in_a_row = 0;
  }
  if (does == spins && is_free) {
    ++thread.repeats.spins_in_a_row;
    return sleep_end::changed;
  }
  // Several waits may follow each other without an event: this tells which one it is.
  thread.history.mix(does + decisions.size() * thread.repeats.spins_in_a_row);
  if (does == wakes_for_no_reason && wakes_by_chance(of, where)) return sleep_end::woken;
  if (does == sleeps_forever || does == sleeps_for_another) {
    const auto kind =
        does == sleeps_forever ? sleep_kind::forever : sleep_kind::in_place_of_another;
    if (falls_asleep(of, kind, in_order, where)) return sleep_end::woken;
  }
  const look other{.where = of.on,
                   .order = std::memory_order_relaxed,
                   .predicate = &of.expected,
                   .test = [](const void* expected, std::uint64_t value) {
                     return value != *static_cast<const std::uint64_t*>(expected);
                   }};
  thread.spins_in_kernel = true;
  await_now(std::span{&other, 1}, std::nullopt, std::nullopt, where);
  thread.spins_in_kernel = false;
  return sleep_end::changed;
}

/// The kernel finds the expected value: in any message, or the newest one that has it. Nothing if
/// there is none.
std::optional<message_index> execution::find_expected(const futex_wait& of, bool newest,
                                                      std::source_location where) {
  check_alive(of.on, where);
  note_read_within(of.on);
  look_as_kernel(of);
  candidates_.clear();
  const access by{running_, std::memory_order_relaxed};
  memory_.for_each_readable(me().known, of.on, by, [&](message_index index) {
    const bool is_expected = memory_.at(of.on).messages[index].value == of.expected;
    if (is_expected && may_follow(of.on, index)) candidates_.emplace_back(0, index);
    return !newest || candidates_.empty();
  });
  if (candidates_.empty()) return std::nullopt;
  const message_index found = candidates_[choose_candidate(where)].second;
  note_followed(of.on, found);
  const location& at = memory_.at(of.on);
  event(slept, at.name, at.messages[found].by.name());
  memory_.read(me().known, of.on, found, std::memory_order_relaxed, this_event());
  if (account_ != nullptr) {
    candidates_.clear();
    tell(where,
         "sleeps on " + described(of.on) + ": " + text_of(of.on, of.expected) +
             by_whom(at.messages[found]),
         {.kind = "sleep", .word = of.on, .read = found});
  }
  return found;
}

/// False if the kernel finds another value.
bool execution::wakes_by_chance(const futex_wait& of, std::source_location where) {
  const location& at = memory_.at(of.on);
  const message_index known = at.order[memory_.oldest_place(of.on, me().known)];
  if (at.messages[known].value != of.expected) {
    step_point({.does = upcoming::reads, .where = of.on});
    if (!find_expected(of, false, where)) {
      if (by_->explores()) leave_out();
      return false;
    }
  }
  --spurious_left_;
  event(woke_up, 0, 0);
  if (account_ != nullptr) tell(where, "sleeps, and wakes up for no reason");
  return true;
}

/// False if a wake has to reach the thread, or the kernel finds another value: so it goes on.
bool execution::falls_asleep(const futex_wait& of, sleep_kind kind, bool in_order,
                             std::source_location where) {
  thread_record& thread = me();
  const void* const address = memory_.at(of.on).lies.address;
  step_point(
      {.does = in_order ? upcoming::sleeps : upcoming::reads, .where = of.on, .address = address});
  const auto found = find_expected(of, true, where);
  if (!found || has_to_be_woken({of.on, *found})) {
    if (by_->explores()) leave_out();
    return false;
  }
  thread.sleeps_on = of.on;
  thread.sleeps_with = *found;
  thread.sleeps_for = any_bit;
  if (!in_order) block(status::unnotified);
  note_queue(address, queue_use::joins);
  thread.sleeps = kind;
  thread.sleeps_in_time = of.has_limit;
  sleepers_[of.on].push_back(running_);
  block(status::sleeping);
  thread.sleeps = sleep_kind::usual;
  thread.sleeps_in_time = false;
  thread.reads.clear();
  event(woke_up, 0, 0);
  if (account_ != nullptr) tell(where, "wakes up");
  return true;
}

std::uint32_t execution::wake(const futex_wake& of, std::source_location where) {
  if (drops_wake(where)) return 0;
  if (const auto on = memory_.find(of.address)) {
    if (of.result_matters) {
      learn_beside_waiters(&word_users::counters, *on);
    } else if (of.count < count_) {
      learn_user(&word_users::single_notifiers, *on);
    }
    // Until waiters are known, those that sleep there may be sleepers of the other kind.
    const bool has_waiters = memory_.at(*on).users.waiters != 0;
    const bool in_order = of.result_matters || !has_waiters || counts_order_of_sleeps(*on);
    if (!is_repeated(in_order)) {
      end_notification(*on, note_notified(*on), 0);
      if (account_ != nullptr) {
        tell(where, "wakes on " + described(*on), {.kind = "wake", .word = *on});
      }
      return 0;
    }
  }
  step_point({.does = upcoming::wakes, .address = of.address});
  const auto on = memory_.find(of.address);
  if (on) note_notified(*on);
  const std::uint32_t woken = on ? take_sleepers(*on, of.count, of.bits, std::nullopt, where) : 0;
  note_queue(of.address, woken != 0 ? queue_use::takes : queue_use::finds_none);
  event(woke, on ? memory_.at(*on).name : 0, woken);
  if (on) check_unnotified(*on);
  if (account_ != nullptr) {
    tell(where,
         "wakes " + std::to_string(woken) + " on " + (on ? described(*on) : "a word that is gone"),
         {.kind = "wake", .word = on});
  }
  return woken;
}

std::optional<std::uint32_t> execution::requeue(const word_place& from, std::uint64_t expected,
                                                std::uint32_t count, std::uint32_t move,
                                                const word_place& to, std::source_location where) {
  learn_beside_waiters(&word_users::counters, find_word(from, where));
  learn_beside_waiters(&word_users::sleepers, find_word(to, where));
  step_point({.does = upcoming::other});
  return requeue_now(find_word(from, where), expected, count, move, find_word(to, where), where);
}

std::optional<std::uint32_t> execution::requeue(location_index from, std::uint64_t expected,
                                                std::uint32_t count, std::uint32_t move,
                                                location_index to, std::source_location where) {
  learn_beside_waiters(&word_users::counters, from);
  learn_beside_waiters(&word_users::sleepers, to);
  step_point({.does = upcoming::other});
  return requeue_now(from, expected, count, move, to, where);
}

std::optional<std::uint32_t> execution::requeue_now(location_index from, std::uint64_t expected,
                                                    std::uint32_t count, std::uint32_t move,
                                                    location_index to, std::source_location where) {
  check_alive(from, where);
  note_newest(from);
  note_queue(memory_.at(from).lies.address, queue_use::takes);
  note_queue(memory_.at(to).lies.address, queue_use::joins);
  const location& at = memory_.at(from);
  const message& newest = at.newest();
  if (newest.value != expected) {
    event(moved, at.name, newest.by.name());
    memory_.read(me().known, from, at.order.back(), std::memory_order_relaxed, this_event());
    if (account_ != nullptr) tell(where, "moves no thread: " + described(from) + " has changed");
    return std::nullopt;
  }
  const std::uint32_t woken = take_sleepers(from, count, any_bit, std::nullopt, where);
  const std::uint32_t others = take_sleepers(from, move, any_bit, to, where);
  event(moved, at.name, newest.by.name() * 256 + woken * 16 + others);
  memory_.read(me().known, from, at.order.back(), std::memory_order_relaxed, this_event());
  if (account_ != nullptr) {
    tell(where, "wakes " + std::to_string(woken) + " and moves " + std::to_string(others) +
                    " from " + described(from) + " to " + described(to));
  }
  return woken + others;
}

std::uint32_t execution::take_sleepers(location_index from, std::uint32_t count, std::uint32_t bits,
                                       std::optional<location_index> to,
                                       std::source_location where) {
  const auto answers = [&](thread_index each) { return (threads_[each].sleeps_for & bits) != 0; };
  auto& queue = sleepers_[from];
  const auto found = static_cast<std::size_t>(std::ranges::count_if(queue, answers));
  std::uint32_t taken = 0;
  while (taken < count) {
    const auto all = static_cast<std::size_t>(std::ranges::count_if(queue, answers));
    if (all == 0) break;
    std::size_t before = settings_.wakes_any ? choose(choice_kind::thread, all, where) : 0;
    const auto which = std::ranges::find_if(
        queue, [&](thread_index each) { return answers(each) && before-- == 0; });
    const thread_index sleeper = *which;
    note_taken(threads_[sleeper], found > count ? found : 1);
    queue.erase(which);
    threads_[sleeper].has_woken_idly = false;
    if (threads_[sleeper].sleeps_on_what_may_end) memory_.to_change(from).accessed.of[sleeper] = 0;
    if (to) {
      threads_[sleeper].repeats.slept.reset();
      sleepers_[*to].push_back(sleeper);
      threads_[sleeper].sleeps_on = *to;
    } else {
      threads_[sleeper].now = status::ready;
      threads_[sleeper].deferred = {};
    }
    ++taken;
  }
  return taken;
}

}  // namespace lockyard::model
