// SPDX-License-Identifier: Apache-2.0

// How a thread waits for a value, or for a word with priority inheritance.

#include "events.hpp"
#include "execution.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lockyard::model {

std::optional<seen> execution::await(std::span<const look> looks,
                                     std::optional<std::size_t> deadline,
                                     std::optional<change> changes, std::source_location where) {
  std::array<look, max_looks> mine{};
  std::ranges::copy(looks, mine.begin());
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (mine[i].lies.address != nullptr) mine[i].where = find_word(mine[i].lies, where);
    mine[i].order = order_at(looks[i].order, static_cast<unsigned>(i), where);
  }
  return await_now(std::span<const look>{mine}.first(looks.size()), deadline, changes, where);
}

/// The looks are with the orders that the checker has chosen.
std::optional<seen> execution::await_now(std::span<const look> looks,
                                         std::optional<std::size_t> deadline,
                                         std::optional<change> changes,
                                         std::source_location where) {
  thread_record& thread = me();
  thread.looks = looks;
  thread.looks_at = where;
  thread.exchanges = changes.has_value();
  thread.deadline = deadline;
  // The thread that sets the client up is alone, so it need not wait for what exists already.
  const bool goes_on_waiting = !deadline || !gives_up(end_of(*deadline), where);
  if (goes_on_waiting) {
    // Looks that fail are never steps, but they use the words from now on.
    for (const look& each : thread.looks) {
      check_alive(each.where, where);
      if (changes) note_attempt(each.where);
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
    note_read_within(looks[i].where);
    if (!changes) {
      leave_out_equal_reads(looks[i].where, looks[i].order, static_cast<std::uint8_t>(i));
    }
  }
  const auto [which, index] = candidates_[choose_candidate(where)];
  const look& chosen = looks[which];
  check_alive(chosen.where, where);
  note_followed(chosen.where, index);
  const std::uint64_t value = memory_.at(chosen.where).messages[index].value;
  if (changes) {
    replace(chosen.where, index, changes->of(value), chosen.order, where);
    return seen{which, value};
  }
  const message& read = memory_.at(chosen.where).messages[index];
  // A loop whose sleeps end because the word has another value is a spin.
  event(thread.spins_in_kernel ? not_slept : awaited, memory_.at(chosen.where).name * 8 + which,
        read.by.name());
  memory_.read(thread.known, chosen.where, index, chosen.order, this_event());
  if (thread.spins_in_kernel) note_read(chosen.where, index);
  mark_access(access_kind::await, chosen.where, index);
  if (account_ != nullptr) {
    tell(where,
         (thread.spins_in_kernel ? "sleeps no more on "
                                 : "await " + name_of(chosen.order) + " on ") +
             described(chosen.where) + ": " + text_of(chosen.where, value) + by_whom(read),
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

}  // namespace lockyard::model
