// SPDX-License-Identifier: Apache-2.0

// A thread's operations on words: loads, stores, changes, fences.

#include "events.hpp"
#include "execution.hpp"

#include <algorithm>

namespace lockyard::model {

namespace {

/// Identifies a call in the source, within one run of the checker.
std::uint64_t site_key(std::source_location where) {
  return reinterpret_cast<std::uintptr_t>(where.file_name()) ^ std::uint64_t{where.line()} << 48U ^
         std::uint64_t{where.column()} << 40U;
}

bool is_fence(std::uint64_t kind) {
  return kind % 32 == fenced || kind % 32 == fenced_lightly;
}

/// Whether a loop of such events alone may be run again as if it had not been run.
bool leaves_no_trace(std::uint64_t kind) {
  switch (kind % 32) {
    case loaded:
    case not_changed:
    case not_slept:
    case fenced:
    case fenced_lightly:
    case paused: return true;
    default: return false;
  }
}

bool is_of_a_sleep(std::uint64_t kind) {
  return kind % 32 == slept || kind % 32 == woke_up;
}

}  // namespace

void execution::event(std::uint64_t kind, std::uint64_t a, std::uint64_t b) {
  thread_record& thread = me();
  if (thread.rushes) {
    thread.rushes = false;
    thread.history.mix(paused + thread.repeats.rushed_pauses * std::uint64_t{32});
  }
  ++thread.events;
  thread.known.current.happened.of[running_] = thread.events;
  thread.history.mix(kind + a * 32);
  thread.history.mix(b);
  if (!leaves_no_trace(kind)) act(thread);
  if (!leaves_no_trace(kind) && !is_of_a_sleep(kind)) thread.repeats.slept.reset();
  if (!is_fence(kind)) thread.repeats.plain = {};
}

std::memory_order execution::order_at(std::memory_order written, unsigned argument,
                                      std::source_location where) {
  if (sites_ != nullptr) sites_->insert({.where = site::of(where, argument), .order = written});
  const mutation* const planted = settings_.planted;
  if (planted == nullptr || !planted->is_at(where, argument)) return written;
  return planted->becomes;
}

void execution::check_room(location_index to) {
  const std::size_t writes = memory_.at(to).messages.size();
  if (writes >= writes_in_every_order) is_short_of_room_ = true;
  if (writes >= max_messages) {
    fail(verdict::inconclusive,
         "an atomic object is written more than " + std::to_string(max_messages) +
             " times, so the execution was not searched to its end; use a "
             "smaller client",
         {});
  }
}

std::uint64_t execution::load(location_index from, std::memory_order order,
                              std::source_location where) {
  const std::uint64_t value = load_now(from, order, where);
  if (compares_states_) clear_dead_stack();
  return value;
}

[[gnu::noinline]] std::uint64_t execution::load_now(location_index from, std::memory_order order,
                                                    std::source_location where) {
  order = order_at(order, 0, where);
  if (const auto known = load_again(from)) return *known;
  step_point({.does = upcoming::reads, .where = from});
  check_alive(from, where);
  note_read_within(from);
  candidates_.clear();
  memory_.for_each_readable(me().known, from, {running_, order}, [&](message_index index) {
    candidates_.push_back({0, index});
    return may_read_older(from, index);
  });
  leave_out_equal_reads(from, order);
  const message_index index = candidates_[choose_candidate(where)].second;
  note_followed(from, index);
  const location& at = memory_.at(from);
  const message& read = at.messages[index];
  event(loaded, at.name, read.by.name());
  memory_.read(me().known, from, index, order, this_event());
  mark_access(access_kind::load, from, index);
  note_read(from, index);
  if (account_ != nullptr) {
    tell(where,
         "load " + name_of(order) + " of " + described(from) + ": " + text_of(from, read.value) +
             by_whom(read),
         {.kind = "load", .order = order, .word = from, .read = index});
  }
  return read.value;
}

void execution::store(location_index to, std::uint64_t value, std::memory_order order,
                      std::source_location where) {
  order = order_at(order, 0, where);
  step_point({.does = upcoming::stores, .where = to});
  check_alive(to, where);
  note_attempt(to);
  check_plain_readers(to, where);
  const location& at = memory_.at(to);
  const std::size_t oldest = memory_.oldest_place(to, me().known);
  candidates_.clear();
  for (std::size_t place = at.order.size(); place > oldest; --place) {
    const message_index before = at.order[place - 1];
    if (at.messages[before].has_successor || !may_follow(to, before)) continue;
    if (!memory_.may_write(me().known, to, place, {running_, order})) continue;
    candidates_.push_back({0, static_cast<message_index>(place)});
  }
  const std::size_t taken = choose(choice_kind::place, candidates_.size(), where);
  const std::size_t place = candidates_[taken].second;
  note_followed(to, at.order[place - 1]);
  // The thread's past determines the value; an address would differ from run to run.
  event(stored, at.name, 0);
  const bool is_newest = place == at.order.size();
  check_room(to);
  mark_access(access_kind::store, to,
              memory_.write(me().known, to, value, order, place, this_event()));
  note_write(to);
  if (account_ != nullptr) {
    tell(where,
         "store " + name_of(order) + " to " + described(to) + ": " + text_of(to, value) +
             (is_newest ? "" : ", which others overwrote before"),
         {.kind = "store", .order = order, .word = to, .written = value});
  }
}

std::uint64_t execution::exchange_by(location_index on, const change& by, std::memory_order order,
                                     std::source_location where) {
  return exchange_now(on, by, order, false, where);
}

std::uint64_t execution::release_by(location_index on, const change& by, std::memory_order order,
                                    std::source_location where) {
  return exchange_now(on, by, order, true, where);
}

std::uint64_t execution::exchange_now(location_index on, const change& by, std::memory_order order,
                                      bool releases, std::source_location where) {
  order = order_at(order, 0, where);
  step_point({.does = upcoming::changes, .where = on, .releases = releases});
  check_alive(on, where);
  note_attempt(on);
  note_read_within(on);
  candidates_.clear();
  memory_.for_each_changeable(me().known, on, {running_, order}, [&](message_index index) {
    candidates_.push_back({0, index});
    return may_read_older(on, index);
  });
  const message_index index = candidates_[choose_candidate(where)].second;
  note_followed(on, index);
  const std::uint64_t found = memory_.at(on).messages[index].value;
  replace(on, index, by.apply(found, by.operand), order, where);
  return found;
}

void execution::replace(location_index on, message_index read, std::uint64_t value,
                        std::memory_order order, std::source_location where) {
  check_plain_readers(on, where);
  const location& at = memory_.at(on);
  const std::uint64_t found = at.messages[read].value;
  event(changed, at.name, at.messages[read].by.name());
  check_room(on);
  memory_.change(me().known, on, read, value, order, this_event());
  mark_access(access_kind::change, on, read);
  note_write(on);
  me().last_change = on;
  if (account_ != nullptr) {
    tell(where,
         "exchange " + name_of(order) + " on " + described(on) + ": " + text_of(on, found) +
             by_whom(at.messages[read]) + " becomes " + text_of(on, value),
         {.kind = "exchange", .order = order, .word = on, .read = read, .written = value});
  }
}

bool execution::compare_exchange(location_index on, std::uint64_t& expected, std::uint64_t desired,
                                 std::memory_order success, std::memory_order failure, bool weak,
                                 std::source_location where) {
  if (const auto known = fail_again(on, expected)) {
    expected = *known;
    return false;
  }
  if (weak && !me().undisturbed) {
    me().notes_state = true;
    note_loop();
    clear_dead_stack();
    if (is_set_up()) switch_out();  // it goes on at once
  }
  step_point({.does = upcoming::changes, .where = on});
  const bool done = compare_exchange_now(on, expected, desired, success, failure, weak, where);
  if (compares_states_) clear_dead_stack();
  return done;
}

[[gnu::noinline]] bool execution::compare_exchange_now(location_index on, std::uint64_t& expected,
                                                       std::uint64_t desired,
                                                       std::memory_order success,
                                                       std::memory_order failure, bool weak,
                                                       std::source_location where) {
  success = order_at(success, 0, where);
  failure = order_at(failure, 1, where);
  check_alive(on, where);
  note_attempt(on);
  note_read_within(on);
  const bool may_fail = weak && may_fail_for_no_reason(site_key(where));
  enum outcome : std::uint8_t { replaced, differs, fails_for_no_reason };
  candidates_.clear();
  // A failure is a load of its own order: what it may read does not depend on the order of success.
  memory_.for_each_readable(me().known, on, {running_, failure}, [&](message_index index) {
    if (!may_follow(on, index)) return false;
    const message& read = memory_.at(on).messages[index];
    if (read.value != expected) {
      candidates_.push_back({differs, index});
    } else if (may_fail) {
      candidates_.push_back({fails_for_no_reason, index});
    }
    return may_read_older(on, index);
  });
  memory_.for_each_changeable(me().known, on, {running_, success}, [&](message_index index) {
    if (!may_follow(on, index)) return false;
    const message& read = memory_.at(on).messages[index];
    if (read.value == expected) candidates_.push_back({replaced, index});
    return may_read_older(on, index);
  });
  leave_out_equal_reads(on, failure, differs);
  const auto [how, index] = candidates_[choose_candidate(where)];
  note_followed(on, index);
  if (how == replaced) {
    replace(on, index, desired, success, where);
    end_failures_in_a_row(site_key(where));
    return true;
  }
  const location& at = memory_.at(on);
  const message& read = at.messages[index];
  event(not_changed + (std::uint64_t{how} << 40U), at.name, read.by.name());
  memory_.read(me().known, on, index, failure, this_event());
  mark_access(access_kind::failed_change, on, index);
  if (how == differs) {
    end_failures_in_a_row(site_key(where));
    note_read(on, index);
  } else {
    note_failure(site_key(where));
  }
  if (account_ != nullptr) {
    tell(where,
         "compare-exchange on " + described(on) + " fails" + (how == differs ? "" : " spuriously") +
             ", load " + name_of(failure) + ": " + text_of(on, read.value) + by_whom(read),
         {.kind = "failed compare-exchange", .order = failure, .word = on, .read = index});
  }
  expected = read.value;
  return false;
}

void execution::fence(std::memory_order order, std::source_location where) {
  order = order_at(order, 0, where);
  const bool sequential = order == std::memory_order_seq_cst;
  if (sequential) step_point({});
  // The event comes first: a release fence also publishes plain data written since the last event.
  event(fenced, static_cast<std::uint64_t>(order), 0);
  memory_.fence(me().known, order, this_event());
  if (account_ != nullptr) {
    tell(where, "fence " + name_of(order), {.kind = "fence", .order = order});
  }
}

/// Comes before or after each heavy fence of another thread. Where preemptions count, it is part of
/// the last step: a heavy fence between that step and this one might as well come before the step.
void execution::light_fence(std::source_location where) {
  if (settings_.asymmetric == barriers::fences) return fence(std::memory_order_seq_cst, where);
  if (is_set_up()) return;
  if (!settings_.preemptions) step_point({.does = upcoming::light_fence});
  event(fenced_lightly, last_heavy_.name(), 0);
  last_light_[running_] = this_event().event;
  memory_.light_fence(me().known, running_);
  done_.has_fenced = true;
  if (account_ != nullptr) tell(where, "light fence", {.kind = "fence"});
}

void execution::registered_light_fence(std::source_location where) {
  if (settings_.asymmetric != barriers::fences) light_fence(where);
}

bool execution::barriers_are_there() {
  if (settings_.asymmetric == barriers::fences) return false;
  if (settings_.asymmetric == barriers::may_be_lost) {
    step_point({});  // a heavy fence of another thread may come before or after
    note_unordered();
    event(barred, barriers_lost_ ? 3 : 2, 0);
  }
  return !barriers_lost_;
}

bool execution::heavy_fence(std::source_location where) {
  if (settings_.asymmetric == barriers::fences) {
    fence(std::memory_order_seq_cst, where);
    return true;
  }
  step_point({.does = upcoming::heavy_fence});
  if (settings_.asymmetric == barriers::may_be_lost) {
    note_unordered();
    if (!barriers_lost_) barriers_lost_ = choose(choice_kind::barrier, 2, where) == 1;
  }
  event(barred, barriers_lost_ ? 1 : 0, last_heavy_.name());
  if (!barriers_lost_ && !is_set_up()) {
    note_heavy_fence();
    for (const std::uint16_t each : last_light_) me().history.mix(each);
    memory_.heavy_fence(me().known, this_event());
    last_heavy_ = this_event();
    last_light_[running_] = last_heavy_.event;
  }
  if (account_ != nullptr) tell(where, barriers_lost_ ? "membarrier fails" : "membarrier");
  return !barriers_lost_;
}

}  // namespace lockyard::model
