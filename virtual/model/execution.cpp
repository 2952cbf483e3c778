// SPDX-License-Identifier: Apache-2.0
#include "execution.hpp"

#include "events.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lockyard::model {

namespace {

namespace context = boost::context::detail;

thread_local execution* running_execution = nullptr;

}  // namespace

execution*& execution::current() noexcept {
  return running_execution;
}

execution::execution(const settings& chosen) : settings_{chosen} {}

bool execution::run(const std::function<std::unique_ptr<client>()>& make, choices& by,
                    const gate& goes_on) {
  by_ = &by;
  make_ = &make;
  reset();
  running_execution = this;
  setter_ = max_threads - 1;
  start(setter_);
  if (verdict_ == verdict::passed) {
    count_ = static_cast<thread_index>(std::min<std::size_t>(client_->threads(), max_threads - 1));
    if (count_ != client_->threads()) {
      verdict_ = verdict::inconclusive;
      what_ = "more threads than the engine has room for";
    }
    for (thread_index i = 0; i < count_; ++i) {
      threads_[i].known = threads_[setter_].known;
      start(i);
    }
  }
  stepped last = stepped::on;
  while (verdict_ == verdict::passed && last == stepped::on) last = step(goes_on);
  const bool whole = last != stepped::cut;
  if (whole && verdict_ == verdict::passed && !has_given_up_) {
    for (thread_index i = 0; i < count_; ++i) {
      memory_.join(threads_[setter_].known.current, threads_[i].known.current);
    }
    resume(setter_);
  }
  running_execution = nullptr;
  // The rest was meant to survive: no destructor runs for it, only its memory is freed.
  for (auto* const list : {&states_, &ended_states_}) {
    for (const state_entry& each : *list) each.by.free(each.object);
    list->clear();
  }
  client_.reset();
  return whole;
}

void execution::reset() {
  for (thread_record& each : threads_) {
    // Not used; but the maker of the client knows all that the threads did.
    const bool made_client = &each == &threads_.back();
    if (!made_client && each.events == 0 && each.now == status::ended) continue;
    each.known = {};
    each.history = {};
    each.events = 0;
    each.created = 0;
    each.now = status::ended;
    each.timed_out = false;
    each.deadline.reset();
    each.reads.clear();
    each.repeats = {};
    each.undisturbed = false;
    each.notes_state = false;
    each.rushes = false;
    each.yields = false;
    each.next = {};
    each.deferred = {};
  }
  for (std::size_t i = 0; i < memory_.count(); ++i) sleepers_[i].clear();
  memory_.reset();
  count_ = 0;
  last_.reset();
  preemptions_ = 0;
  steps_ = 0;
  spurious_left_ = settings_.spurious_wakes;
  timeouts_left_ = settings_.timeouts;
  short_spins_left_ = settings_.short_spins;
  old_reads_left_ = settings_.old_reads.value_or(1);
  barriers_lost_ = false;
  deadlines_.clear();
  plains_.clear();
  occupants_.clear();
  previous_.reset();
  learned_.reset();
  has_disturbed_ = false;
  newest_.clear();
  is_redundant_ = false;
  has_given_up_ = false;
  verdict_ = verdict::passed;
  what_.clear();
  by_->rewind();
}

void execution::start(thread_index thread) {
  threads_[thread].now = status::ready;
  threads_[thread].context =
      context::make_fcontext(stacks_[thread].top(), fiber_stack::bytes, &execution::enter);
  resume(thread);
}

void execution::enter(context::transfer_t from) {
  execution& self = *static_cast<execution*>(from.data);
  self.scheduler_ = from.fctx;
  const thread_index thread = self.running_;
  if (thread == self.setter_) {
    self.client_ = (*self.make_)();
    self.switch_out();
    self.client_->finish();
  } else {
    self.client_->thread(thread);
    self.end_states(thread);
    self.event(ended, 0, 0);
  }
  self.threads_[thread].now = status::ended;
  for (;;) self.switch_out();  // a fiber that returned would end the program
}

void execution::resume(thread_index thread) {
  running_ = thread;
  const context::transfer_t back = context::jump_fcontext(threads_[thread].context, this);
  threads_[thread].context = back.fctx;
  if (threads_[thread].notes_state) note_state(thread);
}

void execution::switch_out() {
  scheduler_ = context::jump_fcontext(scheduler_, nullptr).fctx;
}

void execution::step_point(const pending& next) {
  if (is_set_up() || me().undisturbed) return;
  me().next = next;
  switch_out();
}

void execution::block(status why) {
  me().now = why;
  me().next = {};
  if (is_set_up()) fail(verdict::hang, "the only thread there is waits", {});
  switch_out();
  me().now = status::ready;
}

void execution::fail(verdict kind, std::string text, std::source_location where,
                     const plain* data) {
  verdict_ = kind;
  what_ = std::move(text);
  tell(where, what_, {.kind = "failure", .data = data});
  for (;;) switch_out();  // never continued
}

unsigned execution::choose(choice_kind kind, std::size_t count, std::source_location where) {
  if (count > max_messages) fail(verdict::inconclusive, "more alternatives than fit", where);
  return guarded([&] { return by_->choose(kind, static_cast<unsigned>(count)); }, where);
}

std::size_t execution::choose_of_allowed(std::size_t count, std::source_location where) {
  if (count > max_messages) fail(verdict::inconclusive, "more alternatives than fit", where);
  return guarded(
      [&] { return by_->choose_of(choice_kind::message, allowed_, static_cast<unsigned>(count)); },
      where);
}

template <class Choose>
unsigned execution::guarded(Choose choose_one, std::source_location where) {
  try {
    return choose_one();
  } catch (const not_deterministic& fault) {
    what_ = "at choice " + std::to_string(fault.step);
  } catch (const stale_replay& fault) {
    what_ = "the list of choices does not fit at choice " + std::to_string(fault.step);
  }
  fail(verdict::not_deterministic, what_, where);
}

execution::stepped execution::step(const gate& goes_on) {
  if (steps_ >= settings_.depth) {
    list_options();
    if (options_.empty()) return stepped::nowhere;
    verdict_ = verdict::inconclusive;
    what_ = "deeper than " + std::to_string(settings_.depth) + " steps";
    return stepped::on;
  }
  try {
    // Only the meaning is needed of a choice that was made before.
    const auto known = by_->take_known(choice_kind::thread);
    if (!known || by_->is_translated()) {
      list_options();
      if (options_.empty()) return stepped::nowhere;
      if (by_->is_new() && !is_worth_going_on(goes_on)) return stepped::cut;
    }
    if (verdict_ != verdict::passed) return stepped::on;
    const auto next = known ? option::of(*known) : reduces() ? pick_reduced() : pick();
    if (!next) return stepped::cut;
    if (!is_possible(*next)) throw not_deterministic{by_->used()};
    if (by_->is_translated()) translate(*next);
    ++steps_;
    for (thread_index i = 0; next->defers >> i != 0; ++i) {
      if ((next->defers >> i & 1U) != 0) defer(threads_[i]);
    }
    take(*next);
    if (reduces()) rouse_after_step(next->thread);
    if ((is_redundant_ || learned_) && verdict_ == verdict::passed) return stepped::cut;
  } catch (const not_deterministic& fault) {
    verdict_ = verdict::not_deterministic;
    what_ = "the threads that can go on differ at choice " + std::to_string(fault.step);
  } catch (const stale_replay& fault) {
    verdict_ = verdict::not_deterministic;
    what_ = "the list of choices does not fit at choice " + std::to_string(fault.step);
  }
  return stepped::on;
}

bool execution::is_worth_going_on(const gate& goes_on) {
  const hash128 now = prefix();
  if (previous_ && *previous_ == now) {
    verdict_ = verdict::not_deterministic;
    what_ = "a step left no trace (a fault of the checker)";
    return true;
  }
  previous_ = now;
  return goes_on(now);
}

/// If a client is deterministic, every option that existed once exists again.
bool execution::is_possible(const option& next) const {
  const thread_record& chosen = threads_[next.thread];
  if (next.thread >= count_ || chosen.now == status::ended) return false;
  if (next.how == variant::time_out) return chosen.deadline.has_value();
  return (chosen.now == status::sleeping) == (next.how == variant::spurious);
}

void execution::take(const option& next) {
  thread_record& chosen = threads_[next.thread];
  if (next.how == variant::time_out) {
    chosen.timed_out = true;
    // If no thread could go on, stores have had time to become visible.
    if (!may_pass(deadlines_[*chosen.deadline])) {
      forget_old(chosen);
      for (thread_record& each : threads_) each.deferred = {};
    }
    pass(deadlines_[*chosen.deadline]);
  }
  const bool sleeps = chosen.now == status::sleeping || chosen.now == status::queued;
  if (sleeps && next.how != variant::run) {
    std::erase(sleepers_[chosen.sleeps_on], next.thread);
    chosen.woken_by = next.how == variant::time_out ? sleep_end::timed_out : sleep_end::woken;
    has_disturbed_ = true;
    if (next.how == variant::spurious) --spurious_left_;
  }
  if (next.preempts) ++preemptions_;
  last_ = next.thread;
  resume(next.thread);
}

void execution::list_options() {
  options_.clear();
  is_last_resort_ = !list_runnable();
  if (is_last_resort_) list_last_resorts();
  if (options_.empty()) return;
  for (thread_index i = 0; i < count_; ++i) {
    const thread_record& each = threads_[i];
    if (each.deadline && !may_pass(deadlines_[*each.deadline]) &&
        deadlines_[*each.deadline].when == passes::early) {
      reach(cap::timeouts);
    }
    // A sleeper may wake for no reason, but no thread may rely on it: without it, the others go on,
    // or a deadline passes.
    if (each.now != status::sleeping) continue;
    if (spurious_left_ > 0) {
      options_.push_back({.thread = i, .how = variant::spurious});
    } else {
      reach(cap::spurious_wakes);
    }
  }
}

/// Lists those that may run. False if none of them has to run in the end: an await that holds for
/// an old value alone may miss that value, and then it never ends.
bool execution::list_runnable() {
  bool can_go_on = false;
  for (thread_index i = 0; i < count_; ++i) {
    const thread_record& each = threads_[i];
    const bool awaits = each.now == status::awaiting;
    const bool runs = each.now == status::ready || each.now == status::counting ||
                      (each.now == status::pausing && pause_is_over(each));
    if (runs || (awaits && is_satisfiable(each))) {
      options_.push_back({.thread = i, .how = variant::run});
      if (runs || is_satisfied_by_newest(each)) can_go_on = true;
    }
    const bool waits = awaits || each.now == status::sleeping || each.now == status::queued;
    if (!waits || !each.deadline) continue;
    if (!may_pass(deadlines_[*each.deadline])) continue;
    options_.push_back({.thread = i, .how = variant::time_out});
    can_go_on = true;
  }
  return can_go_on;
}

void execution::list_last_resorts() {
  bool all_ended = true;
  bool can_go_on = false;
  for (thread_index i = 0; i < count_; ++i) {
    if (threads_[i].now == status::ended) continue;
    all_ended = false;
    if (!threads_[i].deadline) continue;
    options_.push_back({.thread = i, .how = variant::time_out});
    can_go_on = true;
  }
  if (!all_ended && !can_go_on && !has_given_up_) note_hang();
}

void execution::note_hang() {
  options_.clear();
  verdict_ = verdict::hang;
  for (thread_index i = 0; i < count_; ++i) {
    const status now = threads_[i].now;
    if (now == status::ended) continue;
    what_ += (what_.empty() ? "" : ", ") + std::string{"T"} + std::to_string(i);
    if (now == status::sleeping || now == status::queued) {
      what_ += " sleeps";
    } else {
      what_ += now == status::awaiting && is_satisfiable(threads_[i])
                   ? " spins and missed its value"
                   : " spins";
    }
  }
  what_ = "no thread can go on: " + what_;
}

/// The thread that ran last comes first, so that the first execution has no preemption.
bool execution::put_last_first() {
  const auto same = std::ranges::find_if(options_, [this](const option& each) {
    return last_ && each.thread == *last_ && each.how == variant::run &&
           !threads_[each.thread].yields;
  });
  if (same == options_.end()) return false;
  std::swap(*same, options_.front());
  return true;
}

execution::option execution::pick() {
  const bool can_stay = put_last_first();
  if (can_stay && settings_.preemptions && preemptions_ >= *settings_.preemptions) {
    options_.resize(1);
  }
  unsigned taken = 0;
  if (scheduler) {
    std::array<thread_index, 3 * max_threads> runnable{};
    for (std::size_t i = 0; i < options_.size(); ++i) runnable[i] = options_[i].thread;
    taken = by_->decide(choice_kind::thread, scheduler(std::span{runnable}.first(options_.size())),
                        static_cast<unsigned>(options_.size()));
  } else {
    taken = by_->choose_always(choice_kind::thread, static_cast<unsigned>(options_.size()));
  }
  option next = options_[taken];
  next.preempts = can_stay && taken != 0;
  by_->last_means(next.number());
  return next;
}

hash128 execution::prefix() const {
  hash128 all = memory_.digest();
  for (thread_index i = 0; i < count_; ++i) {
    const thread_record& each = threads_[i];
    all.mix(each.history);
    all.mix(static_cast<std::uint64_t>(each.now));
  }
  if (reduces()) mix_deferrals(all);
  for (std::size_t i = 0; i < memory_.count(); ++i) {
    if (sleepers_[i].empty()) continue;
    std::uint64_t queue = i + 1;
    for (const thread_index sleeper : sleepers_[i]) queue = queue * 8 + sleeper + 1;
    all.mix(queue);
  }
  all.mix(spurious_left_);
  all.mix((short_spins_left_ * 16U + timeouts_left_) * 2U + (barriers_lost_ ? 1U : 0U));
  if (settings_.old_reads) all.mix(old_reads_left_);
  if (settings_.preemptions) all.mix(preemptions_ * 16U + (last_ ? *last_ + 1U : 0U));
  return all;
}

bool execution::is_satisfiable(const thread_record& of) {
  const auto thread = static_cast<thread_index>(&of - threads_.data());
  for (const look& each : of.looks) {
    bool found = false;
    const auto visit = [&](message_index index) {
      found =
          each.holds(memory_.at(each.where).messages[index].value) && may_follow(each.where, index);
      return !found;
    };
    if (of.exchanges) {
      memory_.for_each_changeable(of.known, each.where, {thread, each.order}, visit);
    } else {
      memory_.for_each_readable(of.known, each.where, {thread, each.order}, visit);
    }
    if (found) return true;
  }
  return false;
}

bool execution::is_satisfied_by_newest(const thread_record& of) {
  return std::ranges::any_of(of.looks, [this](const look& each) {
    return each.holds(memory_.at(each.where).newest().value);
  });
}

bool execution::pause_is_over(const thread_record& of) {
  if (of.reads.empty()) return true;
  return std::ranges::any_of(of.reads,
                             [this](const read_before& each) { return !is_newest(each); });
}

}  // namespace lockyard::model
