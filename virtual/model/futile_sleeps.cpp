// SPDX-License-Identifier: Apache-2.0

// Sleeps that end for no reason. They may, at any time, and the caller has to look again.
//
// If it then sleeps again, where it was and with all that it knew, the execution is redundant: in
// another one, the thread has slept all the time. There the others do the same, unless one of them
// has used the queue meanwhile, to wake a thread or to sleep too, or the thread has lost its place
// in the queue to a thread behind it. A use that fails because of the second look, such as one of
// an ended object, fails as well where the thread wakes up later.
//
// So a thread may wake for no reason any number of times if each time it has learned something
// since, as there are so many messages to learn. A thread that does something in each turn which
// others can see, such as taking a lock, comes back to another state each time. Beyond the first
// turn these wakes are counted, for the whole execution.

#include "execution.hpp"

#include <optional>
#include <utility>

namespace lockyard::model {

/// Called before the thread blocks. In code without a world, what a turn writes to memory besides
/// words is not all known.
void execution::begin_sleep() {
  thread_record& thread = me();
  const bool counts_all = settings_.counts_all_wakes || settings_.spurious_wakes == 0;
  if (!counts_all && !thread.undisturbed && name_of_memory == nullptr) {
    thread.notes_state = true;
    compares_states_ = true;
    return;
  }
  thread.may_wake_idly = idle_wake::counted;
  thread.repeats.slept.reset();
  count_sleep();
}

void execution::count_sleep() {
  // Whether the one that may not wake is asleep then depends on the order of the steps.
  if (reduces() && ++sleeps_ > settings_.spurious_wakes) use_up(cap::spurious_wakes);
}

void execution::note_sleep(thread_record& thread) {
  futures_.note_sleep(thread);
  repetition& repeats = thread.repeats;
  hash128 state = repeats.state;
  state.mix(thread.deadline.value_or(0));
  const void* const address = memory_.at(thread.sleeps_on).lies.address;
  const auto before = std::exchange(
      repeats.slept,
      sleep_before{.state = state, .knowledge = repeats.knowledge, .address = address});
  const bool may_be_back =
      before && before->has_ended_idly && !before->is_disturbed && before->address == address;
  if (may_be_back && is_repeated(before->state == state)) {
    is_redundant_ |= by_->explores();
    thread.may_wake_idly = idle_wake::none;
    return;
  }
  const bool is_another =
      !thread.has_woken_idly || (before && before->knowledge != repeats.knowledge);
  unsigned& turns = repeats.slept->turns;
  turns = before && !is_another ? before->turns + 1 : 0;
  // A loop may know its first turn, and the second one finds other leftovers on the stack.
  const bool is_free = is_another || (before && !before->is_disturbed && turns <= 2);
  thread.may_wake_idly = is_free ? idle_wake::free : idle_wake::counted;
  if (!is_free) count_sleep();
}

void execution::end_sleep_idly(thread_record& thread) {
  if (thread.may_wake_idly == idle_wake::counted) --spurious_left_;
  if (!thread.repeats.slept) return;
  const auto which = static_cast<thread_index>(&thread - threads_.data());
  thread.repeats.slept->has_ended_idly = true;
  const bool keeps_its_place = settings_.wakes_any || sleepers_[thread.sleeps_on].back() == which;
  thread.repeats.slept->is_disturbed = !keeps_its_place;
}

void execution::disturb_sleeps(const void* address) {
  for (thread_index i = 0; i < count_; ++i) {
    auto& slept = threads_[i].repeats.slept;
    if (i != running_ && slept && slept->has_ended_idly && slept->address == address) {
      slept->is_disturbed = true;
    }
  }
}

}  // namespace lockyard::model
