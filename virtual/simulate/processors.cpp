// SPDX-License-Identifier: Apache-2.0

// Which thread has which processor: switches, preemptions, wake-ups and sleep.

#include "engine.hpp"

#include <algorithm>

namespace lockyard::simulation {

void engine::step_at(int which, ps when) {
  at(which).step_at = when;
  push(when, event_kind::step, which, ++at(which).generation);
}

void engine::account_for(int which) {
  thread& running = *at(which).current;
  if (now_ <= running.counted_until) return;
  policy_->ran(running, which, now_ - running.counted_until);
  running.used += now_ - running.counted_until;
  running.counted_until = now_;
}

void engine::owned_by(thread* owner) noexcept {
  owner_ = owner;
  owner_off_since_ = never;
}

void engine::reschedule(int which, bool yielded) {
  processor& here = at(which);
  here.must_reschedule = false;
  thread* const previous = here.current;
  if (previous != nullptr) {
    account_for(which);
    if (previous->doing == activity::parked) count_spinner(*previous, -1);
    if (previous->runnable) {
      policy_->put_back(*previous, which, yielded);
      if (previous == owner_) owner_off_since_ = now_;
    }
  }
  here.current = nullptr;
  thread* next = policy_->choose(which);
  if (next == nullptr) next = policy_->pull(which);
  ++here.generation;
  if (previous != nullptr && previous != next) {
    scheduled(*previous, trace::event_kind::switch_out, previous->runnable ? 1 : 0);
  }
  if (next == nullptr) {
    if (previous != nullptr) here.idle_since = now_;
    return;
  }
  start(*next, which, next != previous);
}

void engine::start(thread& next, int which, bool is_new) {
  if (next.processor != which) {
    policy_->moved(next, next.processor, which);
    ++counted_.migrations;
    const auto from = static_cast<std::uint64_t>(next.processor);
    next.processor = which;
    scheduled(next, trace::event_kind::migrated, from);
  }
  if (&next == owner_ && owner_off_since_ != never) {
    if (is_new) counted_.owner_off += now_ - owner_off_since_;
    owner_off_since_ = never;
  }
  at(which).current = &next;
  if (is_new) {
    ++counted_.context_switches;
    scheduled(next, trace::event_kind::switch_in);
  }
  const ps begin = now_ + (is_new ? machine_.context_switch : 0);
  next.counted_until = now_;
  if (next.doing == activity::parked) {
    count_spinner(next, 1);
    next.spin->last_look = begin;
    poke(next, begin);
  } else {
    step_at(which, begin + next.work_left);
  }
}

void engine::preempt(int which) {
  processor& here = at(which);
  thread* const running = here.current;
  if (running == nullptr) return reschedule(which, false);
  if (running->doing == activity::operation || running->doing == activity::none ||
      running->granted != nullptr) {
    here.must_reschedule = true;  // what is under way takes effect first
    return;
  }
  ++counted_.preemptions;
  if (running->doing == activity::work) running->work_left = std::max<ps>(0, here.step_at - now_);
  running->poked = false;
  reschedule(which, false);
}

/// Moves a running thread to an idle core from a core whose two hardware threads both run. Linux
/// does so when an idle processor balances its load (SD_PREFER_SIBLING, active_load_balance()).
void engine::relieve_a_core(int idle) {
  if (shape().threads_per_core == 1 || !is_core_idle(idle) || !policy_->spreads_over_cores())
    return;
  for (int each = 0; each < shape().processors; ++each) {
    thread* const running = at(each).current;
    const bool may_move =
        running != nullptr && running->pinned_to < 0 &&
        (running->doing == activity::work || running->doing == activity::parked) &&
        running->granted == nullptr;
    if (!may_move || at(machine_.sibling_of(each)).current == nullptr) continue;
    processor& from = at(each);
    account_for(each);
    if (running->doing == activity::work) running->work_left = std::max<ps>(0, from.step_at - now_);
    if (running->doing == activity::parked) count_spinner(*running, -1);
    running->poked = false;
    from.current = nullptr;
    scheduled(*running, trace::event_kind::switch_out, 1);
    start(*running, idle, true);
    return reschedule(each, false);
  }
}

/// A preemption that waited for the end of an operation happens before the next one begins.
void engine::give_way() {
  const int which = self_->processor;
  if (!at(which).must_reschedule) return;
  ++counted_.preemptions;
  self_->work_left = 0;
  reschedule(which, false);
  switch_out();
}

void engine::arrive(thread& which) {
  const int on = which.processor;
  processor& here = at(on);
  --here.arriving;
  here.queue.push_back(&which);
  if (here.current == nullptr) return reschedule(on, false);
  account_for(on);
  thread& running = *here.current;
  if (policy_->preempts(which, running, on)) {
    preempt(on);
  } else if (running.doing == activity::parked && running.spin->may_yield && !running.poked) {
    poke(running, next_look(running));  // from now on its yields matter
  }
}

void engine::wake_thread(thread& which, int waker) {
  which.runnable = true;
  add_load(which, 1);
  ++counted_.wakes;
  const int target = which.pinned_to >= 0 ? which.pinned_to : policy_->place(which, waker);
  ps delay = 0;
  if (is_idle(target)) {
    const bool is_deep = now_ - at(target).idle_since > machine_.deep_idle_after;
    delay = is_deep ? machine_.deep_idle_exit : machine_.idle_exit;
  }
  if (target != waker) delay += machine_.interrupt;
  const int from = which.processor;
  which.processor = target;
  const std::uint32_t by = self_ != nullptr ? recording::number_of(self_->id) : 0;
  scheduled(which, trace::event_kind::woken, by);
  if (from != target) {
    ++counted_.migrations;
    scheduled(which, trace::event_kind::migrated, static_cast<std::uint64_t>(from));
  }
  policy_->woken(which);
  ++at(target).arriving;
  counted_.wake_latency += delay;
  push(now_ + delay, event_kind::arrival, which.id);
}

// Actions of the running thread

ps engine::with_sibling(ps length) const {
  if (shape().threads_per_core == 1 || self_ == nullptr) return length;
  const thread* const other = at(machine_.sibling_of(self_->processor)).current;
  if (other == nullptr) return length;
  const bool pauses = other->doing == activity::parked && !other->spin->writes;
  return scaled_by(length, pauses ? machine_.smt_pausing_slowdown : machine_.smt_slowdown);
}

void engine::operate(ps length) {
  if (self_ == nullptr) return;
  give_way();
  const ps end = now_ + length;
  if (events_.empty() || events_.top().at > end) {  // nothing can happen in between
    now_ = end;
    return;
  }
  self_->doing = activity::operation;
  step_at(self_->processor, end);
  switch_out();
}

void engine::compute(ps length) {
  if (self_ == nullptr) return;
  give_way();
  self_->repetitions = 0;
  self_->doing = activity::work;
  step_at(self_->processor, now_ + with_sibling(length));
  switch_out();
}

void engine::yield() {
  if (self_ == nullptr) return;
  ++counted_.yields;
  stamp(trace::event_kind::yield_begin);
  operate(yield_length());
  give_way();
  if (has_company() && policy_->yield_switches(*self_, self_->processor)) {
    reschedule(self_->processor, true);
    switch_out();
  }
  stamp(trace::event_kind::yield_end);
}

// The kernel compares the word and enqueues the thread under one lock, so nothing happens between.
bool engine::sleep(const void* futex, ps until) {
  thread& me = *self_;
  stamp(trace::event_kind::sleep_begin);
  sleepers_[futex].push_back(&me);
  me.futex = futex, me.runnable = false, me.timed_out = false, me.repetitions = 0;
  ++me.timer, ++counted_.sleeps;
  add_load(me, -1);
  account_for(me.processor);
  policy_->slept(me, me.processor);
  if (until < never) push(std::max(until, now_), event_kind::timer, me.id, me.timer);
  reschedule(me.processor, false);
  switch_out();
  stamp(trace::event_kind::sleep_end);
  return !me.timed_out;
}

int engine::wake(const void* futex, int count) {
  stamp(trace::event_kind::wake_begin, nullptr, static_cast<std::uint64_t>(count));
  if (first_sleeper(futex) == nullptr) {
    operate(machine_.futex_wake_none);
    stamp(trace::event_kind::wake_end);
    return 0;
  }
  int woken = 0;
  for (; woken < count; ++woken) {
    operate(machine_.futex_wake);
    thread* const first = first_sleeper(futex);
    if (first == nullptr) break;
    wake_sleeper(*first);
  }
  stamp(trace::event_kind::wake_end);
  return woken;
}

void engine::wake_sleeper(thread& which) {
  std::erase(sleepers_[which.futex], &which);
  which.futex = nullptr;
  ++which.timer;
  wake_thread(which, self_ != nullptr ? self_->processor : which.processor);
}

thread* engine::first_sleeper(const void* futex) {
  const auto found = sleepers_.find(futex);
  return found == sleepers_.end() || found->second.empty() ? nullptr : found->second.front();
}

int engine::requeue(const void* from, int wake_count, int move_count, const void* to) {
  const int woken = wake_count > 0 ? wake(from, wake_count) : 0;
  int moved = 0;
  for (; moved < move_count; ++moved) {
    thread* const first = first_sleeper(from);
    if (first == nullptr) break;
    auto& sleepers = sleepers_[from];
    sleepers.erase(sleepers.begin());
    first->futex = to;
    sleepers_[to].push_back(first);
  }
  return woken + moved;
}

}  // namespace lockyard::simulation
