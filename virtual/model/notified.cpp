// SPDX-License-Identifier: Apache-2.0

// Waits for another value, which a notification ends: std::atomic::wait() ([atomics.wait]). Such a
// wait is a loop of loads. Between two of them the thread may sleep, and any sleep may end without
// a reason. So for all that the code does, the loop is a spin: it waits until there is something
// new. Notifications decide about hangs alone. Where the spin has read the expected value, the
// thread has a second choice: it sleeps forever. If a notification has to reach it, the execution
// is left out, because the spin stands for it.
//
// A notification has to reach a thread that has read message X if some write Y behind X, in
// modification order, happens before the notification, or is known to its thread. That is the same
// in all orders of steps: where the thread sleeps before the notification it wakes up; where it
// falls asleep after it, it finds that Y is there. So neither is a step of its own.
//
// A notification of one thread may reach another thread instead, which must be asleep at that
// moment. If several threads wait for the word, or some wait with a limit, sleeps and notifications
// are therefore steps, in all orders, and the thread has a third choice: it sleeps until a
// notification reaches it that another sleeper would need. Without such a notification the spin
// stands for that execution, too.

#include "events.hpp"
#include "execution.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

namespace lockyard::model {

namespace {

enum decision : std::uint8_t { spins, sleeps_forever, sleeps_for_another };

}  // namespace

read_before execution::last_read_of(location_index word) {
  const auto& reads = me().repeats.all_reads;
  const auto last = std::ranges::find(reads.rbegin(), reads.rend(), word, &read_before::where);
  return last != reads.rend() ? *last : read_before{word, memory_.at(word).order.back()};
}

sleep_end execution::wait_for_another_value(location_index on, std::optional<std::size_t> deadline,
                                            std::source_location where) {
  thread_record& thread = me();
  if (thread.rushes) event(paused, 2, 0);  // ends the rush
  const read_before seen = last_read_of(on);
  const location& at = memory_.at(on);
  const std::uint64_t expected = at.messages[seen.which].value;
  if (deadline || !may_repeat()) {
    learn_beside_waiters(&word_users::sleepers, on);
    return sleep({.on = on, .expected = expected, .deadline = deadline}, where);
  }
  learn_user(&word_users::waiters, on);
  if (thread.repeats.waited_with == seen) return sleep_end::changed;
  thread.repeats.waited_with = seen;
  const bool in_order = is_repeated(counts_order_of_sleeps(on));
  const auto does = choose(choice_kind::time, in_order ? 3 : 2, where);
  if (does == spins) return sleep_end::changed;
  thread.history.mix(does);
  if (in_order) {
    step_point({.does = upcoming::sleeps, .where = on, .address = at.lies.address});
    check_alive(on, where);
    note_queue(at.lies.address, queue_use::joins);
  }
  event(slept, at.name, at.messages[seen.which].by.name());
  if (has_to_be_woken(seen)) {
    if (by_->explores()) leave_out();
    return sleep_end::changed;
  }
  if (account_ != nullptr) {
    candidates_.clear();
    tell(where,
         "sleeps on " + described(on) + ": " + text_of(on, expected) +
             by_whom(at.messages[seen.which]) + ", until it is notified",
         {.kind = "sleep", .word = on, .read = seen.which});
  }
  thread.sleeps_on = on;
  thread.sleeps_with = seen.which;
  if (!in_order) {
    block(status::unnotified);
    return sleep_end::woken;
  }
  thread.sleeps = does == sleeps_forever ? sleep_kind::forever : sleep_kind::in_place_of_another;
  sleepers_[on].push_back(running_);
  block(status::sleeping);
  thread.sleeps = sleep_kind::usual;
  thread.reads.clear();
  event(woke_up, 0, 0);
  if (account_ != nullptr) tell(where, "wakes up");
  return sleep_end::woken;
}

/// Whether a notification so far has known of something newer.
bool execution::has_to_be_woken(const read_before& sleeper) const {
  const location& at = memory_.at(sleeper.where);
  return at.position[at.notified] > at.position[sleeper.which];
}

bool execution::counts_order_of_sleeps(location_index on) const {
  const word_users& users = memory_.at(on).users;
  return !reduces() || users.may_pass_over() || users.sleepers != 0;
}

/// A use of the word by the running thread that counts for the search if others wait there. It is
/// learned once they are known: then the search begins anew.
void execution::learn_beside_waiters(std::uint16_t word_users::*list, location_index on) {
  if (memory_.at(on).users.waiters != 0) learn_user(list, on);
}

void execution::notify(const void* address, bool all, std::source_location where) {
  if (drops_wake(where)) return;
  const auto on = memory_.find_last(address);
  if (!on) return;
  if (!all) learn_user(&word_users::single_notifiers, *on);
  const bool in_order = is_repeated(counts_order_of_sleeps(*on));
  if (in_order) {
    step_point({.does = upcoming::wakes, .address = address});
  }
  const message_index known = note_notified(*on);
  const std::uint64_t woken = in_order ? wake_older(*on, known, all, where) : 0;
  if (in_order) note_queue(address, woken != 0 ? queue_use::takes : queue_use::finds_none);
  end_notification(*on, known, woken);
  if (account_ != nullptr) {
    tell(where, (all ? "notifies all on " : "notifies one on ") + described(*on),
         {.kind = "wake", .word = on});
  }
}

/// Notes the newest message that the notification knows of, and returns it.
message_index execution::note_notified(location_index on) {
  const location& at = memory_.at(on);
  const message_index known = at.order[memory_.oldest_place(on, me().known)];
  if (at.position[known] > at.position[at.notified]) memory_.to_change(on).notified = known;
  return known;
}

void execution::end_notification(location_index on, message_index known, std::uint64_t woken) {
  const location& at = memory_.at(on);
  event(notified + woken * 32, at.name, at.messages[known].by.name());
  check_unnotified(on);
}

/// The execution is left out if a notification has to reach one that sleeps forever.
void execution::check_unnotified(location_index on) {
  for (const thread_record& each : std::span{threads_}.first(count_)) {
    const bool sleeps_here = each.now == status::unnotified && each.sleeps_on == on;
    if (sleeps_here && has_to_be_woken({on, each.sleeps_with})) leave_out();
  }
}

/// Wakes one or all of the sleepers that have read something older, or do not wait for another
/// value; returns how many.
std::uint32_t execution::wake_older(location_index on, message_index known, bool all,
                                    std::source_location where) {
  const location& at = memory_.at(on);
  std::vector<thread_index> found;
  for (const thread_index each : sleepers_[on]) {
    const thread_record& sleeper = threads_[each];
    const bool is_older = at.position[sleeper.sleeps_with] < at.position[known];
    if (is_older || sleeper.sleeps == sleep_kind::usual) found.push_back(each);
  }
  if (!all && !found.empty()) {
    const std::size_t taken =
        settings_.wakes_any ? choose(choice_kind::thread, found.size(), where) : 0;
    note_taken(threads_[found[taken]], found.size());
    found = {found[taken]};
  }
  for (const thread_index each : found) {
    if (all) note_taken(threads_[each], 1);
    std::erase(sleepers_[on], each);
    threads_[each].now = status::ready;
    threads_[each].deferred = {};
  }
  return static_cast<std::uint32_t>(found.size());
}

/// A wake takes this thread out of so many sleepers of which it takes one.
void execution::note_taken(const thread_record& sleeper, std::size_t of_sleepers) {
  const bool may_be_left_out =
      sleeper.sleeps == sleep_kind::forever ||
      (sleeper.sleeps == sleep_kind::in_place_of_another && of_sleepers == 1);
  if (may_be_left_out && by_->explores()) leave_out();
}

}  // namespace lockyard::model
