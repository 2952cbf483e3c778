// SPDX-License-Identifier: Apache-2.0

// Priorities that change: a sleeper lends its own to the thread that it waits for, as the kernel
// does for a futex with priority inheritance (kernel/locking/rtmutex.c). Only strict priorities are
// lent: by nice, all waiters are equal there.

#include "engine.hpp"

#include <algorithm>
#include <utility>

namespace lockyard::simulation {

void engine::change_priority(thread& of, int priority) {
  of.own.priority = priority;
  priority_changed(of);
}

/// Compares a thread whose priority has changed with the thread that runs on its processor.
void engine::priority_changed(thread& of) {
  processor& here = at(of.processor);
  if (here.current == nullptr) return;
  const auto has_to_run = [&](const thread* each) {
    return policy_->preempts(*each, *here.current, of.processor);
  };
  if (here.current == &of ? std::ranges::any_of(here.queue, has_to_run)
                          : std::ranges::count(here.queue, &of) > 0 && has_to_run(&of)) {
    account_for(of.processor);
    preempt(of.processor);
  }
}

/// Gives the thread the highest priority of those that wait for it, and passes it on.
void engine::collect_priority(thread& of) {
  if (!policy_->is_strict()) return;
  int highest = 0;
  for (const auto& each : threads_) {
    if (each->waits_for == &of) highest = std::max(highest, each->priority());
  }
  if (highest == of.lent_priority) return;
  of.lent_priority = highest;
  priority_changed(of);
  if (of.waits_for != nullptr) collect_priority(*of.waits_for);
}

bool engine::sleep_behind(thread& owner, const void* futex, ps until) {
  thread& me = *self_;
  me.waits_for = &owner;
  collect_priority(owner);
  const bool is_woken = sleep(futex, until);
  if (me.waits_for != nullptr) collect_priority(*std::exchange(me.waits_for, nullptr));
  return is_woken;
}

thread* engine::hand_over(const void* futex) {
  stamp(trace::event_kind::wake_begin, nullptr, 1);
  operate(first_sleeper(futex) != nullptr ? machine_.futex_wake : 0);
  thread* next = nullptr;
  if (first_sleeper(futex) != nullptr) {
    const auto& sleepers = sleepers_[futex];
    next = *std::ranges::max_element(sleepers, {}, &thread::priority);
    for (thread* const each : sleepers) each->waits_for = each == next ? nullptr : next;
    collect_priority(*next);
    collect_priority(*self_);
    wake_sleeper(*next);
  }
  stamp(trace::event_kind::wake_end);
  return next;
}

}  // namespace lockyard::simulation
