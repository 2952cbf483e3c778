// SPDX-License-Identifier: Apache-2.0
#include "scheduler.hpp"

#include "engine.hpp"

namespace lockyard::simulation {

void scheduler::put_back(thread& which, int processor, bool /*yielded*/) {
  on().at(processor).queue.push_back(&which);
}

ps scheduler::yield_length(int /*yielding*/) const {
  return on().costs_of().yield;
}

bool scheduler::looks_idle(int processor, int waker) const {
  if (!on().is_idle(processor)) return false;
  return processor == waker || !on().shape().halted_looks_preempted;
}

/// The processor where the thread ran last, the waker's, or one that shares a cache with the
/// former: of an idle core, or otherwise idle; then any idle one (Linux: select_idle_sibling()). If
/// none looks idle, the one where the thread ran last, which may be the waker's (wake_affine():
/// the load of the waker's processor is higher).
int scheduler::place(thread& woken, int waker) {
  const int last = woken.processor;
  if (looks_idle(last, waker)) return last;
  if (looks_idle(waker, waker)) return waker;
  const topology& shape = on().shape();
  int near = -1, far = -1;
  for (int i = 1; i < shape.processors; ++i) {
    const int each = (last + i) % shape.processors;
    if (!looks_idle(each, waker)) continue;
    const bool shares_cache = on().costs_of().between(each, last) <= distance::cache;
    if (shares_cache && on().is_core_idle(each)) return each;
    int& found = shares_cache ? near : far;
    if (found < 0) found = each;
  }
  if (near >= 0) return near;
  return far >= 0 ? far : last;
}

/// Takes the first thread that may move from the longest queue.
thread* scheduler::pull(int /*processor*/) {
  const auto may_move = [](const thread* each) { return each->pinned_to < 0; };
  std::vector<thread*>* longest = nullptr;
  for (int i = 0; i < on().shape().processors; ++i) {
    auto& queue = on().at(i).queue;
    if (std::ranges::none_of(queue, may_move)) continue;
    if (longest == nullptr || queue.size() > longest->size()) longest = &queue;
  }
  if (longest == nullptr) return nullptr;
  const auto first = std::ranges::find_if(*longest, may_move);
  thread* const found = *first;
  longest->erase(first);
  return found;
}

}  // namespace lockyard::simulation
