// SPDX-License-Identifier: Apache-2.0

// How a thread waits: for a value, for any change, or asleep.

#include "events.hpp"
#include "execution.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lockyard::model {

std::optional<seen> execution::await(std::span<const look> looks,
                                     std::optional<std::size_t> deadline,
                                     std::optional<std::uint64_t> desired,
                                     std::source_location where) {
  std::array<look, max_looks> mine{};
  std::ranges::copy(looks, mine.begin());
  for (std::size_t i = 0; i < looks.size(); ++i) {
    mine[i].order = order_at(looks[i].order, static_cast<unsigned>(i), where);
  }
  thread_record& thread = me();
  thread.looks = std::span<const look>{mine}.first(looks.size());
  thread.exchanges = desired.has_value();
  thread.deadline = deadline;
  // The thread that sets the client up is alone, so it need not wait for what exists already.
  const bool goes_on_waiting = !deadline || !gives_up(deadlines_[*deadline], where);
  if (goes_on_waiting) {
    // Looks that fail are never steps, but they use the words from now on.
    for (const look& each : thread.looks) {
      check_alive(each.where, where);
      if (desired) note_attempt(each.where);
    }
  }
  if (goes_on_waiting && (!is_set_up() || !is_satisfiable(thread))) block(status::awaiting);
  thread.deadline.reset();
  if (!goes_on_waiting || std::exchange(thread.timed_out, false)) {
    event(timed_out, 0, 0);
    if (account_ != nullptr) tell(where, "the deadline of the wait passes");
    return std::nullopt;
  }
  list_candidates(thread);
  if (candidates_.empty()) {
    fail(verdict::not_deterministic, "waits for something that was there before", where);
  }
  for (std::size_t i = 0; i < looks.size(); ++i) {
    note_read_within(mine[i].where);
    if (!desired) {
      leave_out_equal_reads(mine[i].where, mine[i].order, static_cast<std::uint8_t>(i));
    }
  }
  const auto [which, index] = candidates_[choose_candidate(where)];
  const look& chosen = mine[which];
  check_alive(chosen.where, where);
  note_followed(chosen.where, index);
  const std::uint64_t value = memory_.at(chosen.where).messages[index].value;
  if (desired) {
    replace(chosen.where, index, *desired, chosen.order, where);
    return seen{which, value};
  }
  const message& read = memory_.at(chosen.where).messages[index];
  event(awaited, memory_.at(chosen.where).name * 8 + which, read.by.name());
  memory_.read(thread.known, chosen.where, index, chosen.order, this_event());
  mark_access(access_kind::await, chosen.where, index);
  if (account_ != nullptr) {
    tell(where,
         "await " + name_of(chosen.order) + " on " + described(chosen.where) + ": " +
             text_of(chosen.where, value) + by_whom(read),
         {.kind = "await",
          .order = chosen.order,
          .word = chosen.where,
          .read = index,
          .look = which});
  }
  return seen{which, value};
}

/// A look is reached only if each look before it can have failed.
void execution::list_candidates(const thread_record& of) {
  candidates_.clear();
  bool reached = true;
  for (std::size_t i = 0; i < of.looks.size() && reached; ++i) {
    const look& each = of.looks[i];
    bool can_fail = false;
    memory_.for_each_readable(of.known, each.where, {running_, each.order},
                              [&](message_index index) {
                                if (!may_follow(each.where, index)) return false;
                                if (!each.holds(memory_.at(each.where).messages[index].value)) {
                                  can_fail = true;
                                } else if (!of.exchanges) {
                                  candidates_.push_back({static_cast<std::uint8_t>(i), index});
                                }
                                return true;
                              });
    if (of.exchanges) {
      memory_.for_each_changeable(of.known, each.where, {running_, each.order},
                                  [&](message_index index) {
                                    if (!may_follow(each.where, index)) return false;
                                    if (each.holds(memory_.at(each.where).messages[index].value)) {
                                      candidates_.push_back({static_cast<std::uint8_t>(i), index});
                                    }
                                    return true;
                                  });
    }
    reached = can_fail;
  }
}

sleep_end execution::sleep(location_index on, std::uint64_t expected,
                           std::optional<std::size_t> deadline, std::source_location where,
                           std::uint32_t bits) {
  step_point({.does = upcoming::sleeps, .where = on, .address = memory_.at(on).lies.address});
  check_alive(on, where);
  note_newest(on);
  const location& at = memory_.at(on);
  const message& newest = at.newest();
  const bool sleeps = newest.value == expected;
  event(sleeps ? slept : not_slept, at.name, newest.by.name());
  // The kernel's look is coherent with ours, but orders nothing.
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
  note_queue(at.lies.address);
  // Whether the one that may not wake is asleep then depends on the order of the steps.
  if (reduces() && ++sleeps_ > settings_.spurious_wakes) reach(cap::spurious_wakes);
  if (at.users.waiters != 0) learn_user(&word_users::sleepers, on);
  thread.sleeps_on = on;
  thread.sleeps_with = at.order.back();
  thread.sleeps_for = bits;
  thread.deadline = deadline;
  thread.woken_by = sleep_end::woken;
  sleepers_[on].push_back(running_);
  block(status::sleeping);
  thread.reads.clear();
  thread.deadline.reset();
  thread.timed_out = false;
  event(woke_up, static_cast<std::uint64_t>(thread.woken_by), 0);
  if (account_ != nullptr) {
    tell(where, thread.woken_by == sleep_end::timed_out ? "its deadline passes" : "wakes up");
  }
  return thread.woken_by;
}

/// Whether a mutant leaves the wake out.
bool execution::drops_wake(std::source_location where) {
  if (sites_ != nullptr) {
    sites_->insert({.where = site::of(where, wake_argument), .order = std::memory_order_relaxed});
  }
  const mutation* const planted = settings_.planted;
  return planted != nullptr && planted->is_at(where, wake_argument);
}

std::uint32_t execution::wake(const void* address, std::uint32_t count, std::source_location where,
                              std::uint32_t bits) {
  if (drops_wake(where)) return 0;
  step_point({.does = upcoming::wakes, .address = address});
  note_queue(address);
  const auto on = memory_.find(address);
  if (on && memory_.at(*on).users.waiters != 0) learn_user(&word_users::sleepers, *on);
  const std::uint32_t woken = on ? take_sleepers(*on, count, bits, std::nullopt, where) : 0;
  event(woke, on ? memory_.at(*on).name : 0, woken);
  if (account_ != nullptr) {
    tell(where,
         "wakes " + std::to_string(woken) + " on " + (on ? described(*on) : "a word that is gone"),
         {.kind = "wake", .word = on});
  }
  return woken;
}

std::optional<std::uint32_t> execution::requeue(location_index from, std::uint64_t expected,
                                                std::uint32_t count, std::uint32_t move,
                                                location_index to, std::source_location where) {
  step_point({.does = upcoming::other});
  check_alive(from, where);
  note_newest(from);
  note_queue(memory_.at(from).lies.address);
  note_queue(memory_.at(to).lies.address);
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
  event(moved, at.name, newest.by.name() * 64 + woken * 8 + others);
  memory_.read(me().known, from, at.order.back(), std::memory_order_relaxed, this_event());
  if (account_ != nullptr) {
    tell(where, "wakes " + std::to_string(woken) + " and moves " + std::to_string(others) +
                    " from " + described(from) + " to " + described(to));
  }
  return woken + others;
}

namespace {
constexpr std::uint64_t pi_waiters = 0x8000'0000;
}  // namespace

/// Under one lock of the kernel: look, take the word or mark it, and enqueue.
bool execution::pi_lock(location_index on, std::optional<std::size_t> deadline,
                        std::source_location where) {
  step_point({.does = upcoming::other});
  note_unordered();
  check_alive(on, where);
  const message_index newest = memory_.at(on).order.back();
  const std::uint64_t found = memory_.at(on).messages[newest].value;
  candidates_.clear();
  if (found == 0) {
    replace(on, newest, pi_id(), std::memory_order_acquire, where);
    return true;
  }
  if ((found & ~pi_waiters) == pi_id()) fail(verdict::hang, "locks what it owns", where);
  replace(on, newest, found | pi_waiters, std::memory_order_relaxed, where);
  thread_record& thread = me();
  thread.reads.clear();
  thread.sleeps_on = on;
  thread.deadline = deadline;
  thread.woken_by = sleep_end::woken;
  sleepers_[on].push_back(running_);
  block(status::queued);
  thread.deadline.reset();
  thread.timed_out = false;
  const bool is_owner = thread.woken_by == sleep_end::woken;
  const message_index handed = memory_.at(on).order.back();
  event(woke_up, static_cast<std::uint64_t>(thread.woken_by),
        is_owner ? memory_.at(on).messages[handed].by.name() : 0);
  if (is_owner) {
    memory_.read(me().known, on, handed, std::memory_order_acquire, this_event());
  }
  if (account_ != nullptr) tell(where, is_owner ? "is handed the word" : "its deadline passes");
  return is_owner;
}

/// Writes the next owner into the word, or frees it, and does not touch it afterwards.
void execution::pi_unlock(location_index on, std::source_location where) {
  step_point({.does = upcoming::other});
  note_unordered();
  check_alive(on, where);
  const message_index newest = memory_.at(on).order.back();
  if ((memory_.at(on).messages[newest].value & ~pi_waiters) != pi_id()) {
    fail(verdict::assertion, "releases what another thread owns", where);
  }
  auto& waiters = sleepers_[on];
  candidates_.clear();
  const std::uint64_t next = waiters.empty() ? 0 : (waiters.front() + 1U) | pi_waiters;
  replace(on, newest, next, std::memory_order_release, where);
  if (waiters.empty()) return;
  threads_[waiters.front()].now = status::ready;
  waiters.erase(waiters.begin());
}

std::uint32_t execution::take_sleepers(location_index from, std::uint32_t count, std::uint32_t bits,
                                       std::optional<location_index> to,
                                       std::source_location where) {
  const auto answers = [&](thread_index each) { return (threads_[each].sleeps_for & bits) != 0; };
  std::uint32_t taken = 0;
  for (auto& queue = sleepers_[from]; taken < count;) {
    const auto all = static_cast<std::size_t>(std::ranges::count_if(queue, answers));
    if (all == 0) break;
    std::size_t before = settings_.wakes_any ? choose(choice_kind::thread, all, where) : 0;
    const auto which = std::ranges::find_if(
        queue, [&](thread_index each) { return answers(each) && before-- == 0; });
    const thread_index sleeper = *which;
    note_taken(threads_[sleeper], count == 1 ? queue.size() : 1);
    queue.erase(which);
    if (to) {
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
