// SPDX-License-Identifier: Apache-2.0

// Paths that lead nowhere (decision 0096): a deferred thread waits for a step that no thread will
// make. A thread helps another one if it may still use the word as the other one's operation
// demands. The threads that go on are those that wait for no step, those that they help, and so
// forth.

#include "execution.hpp"

#include <algorithm>
#include <span>

namespace lockyard::model {

/// The threads of which one has to make a step before this one can, if it is deferred now: all, if
/// it need not wait for any, or if that is not known.
std::uint16_t execution::helpers_if_deferred(const thread_record& of) {
  const upcoming next = upcoming_of(of);
  if (next != upcoming::awaits) return users_met_by(next, of);
  // Where it holds for an old value only, others' deadlines may pass.
  const bool may_miss = !is_satisfied_by_newest(of) && is_satisfiable(of);
  const bool is_unknown = of.looks.size() > 1 || of.deadline || of.spins_in_kernel || may_miss;
  return is_unknown ? all_threads : users_met_by(next, of);
}

/// The same for a thread as it is.
std::uint16_t execution::helpers_of(const thread_record& of) {
  const bool awaits = of.now == status::awaiting;
  if (!of.deferred.is_on) {
    return awaits && !is_satisfiable(of) ? helpers_if_deferred(of) : all_threads;
  }
  const bool reads = awaits || of.next.does == upcoming::reads || of.next.does == upcoming::changes;
  const bool goes_on = reads && has_news(of, 0, awaits ? of.looks.front().where : of.next.where);
  return goes_on ? all_threads : helpers_if_deferred(of);
}

/// Whether a deferred operation that could be made stays deferred in all that follows: each thread
/// that could change that has ended, or waits for another one of them.
bool execution::some_stay_deferred(const waits_for_steps& of) const {
  if (of.deferred == 0) return false;
  std::uint16_t going_on = 0;
  for (std::uint16_t more = of.alive; more != 0;) {
    more = 0;
    for (thread_index i = 0; i < count_; ++i) {
      const auto self = static_cast<std::uint16_t>(1U << i);
      if ((of.alive & ~going_on & self) == 0) continue;
      const bool waits = of.helpers[i] != all_threads && (of.helpers[i] & going_on) == 0;
      if (!waits) more |= self;
    }
    going_on |= more;
  }
  return (of.deferred & ~going_on) != 0;
}

/// Returns nothing if no thread is deferred, and `always` is not set.
waits_for_steps execution::list_waits(bool always) {
  waits_for_steps all;
  const auto is_deferred = [](const thread_record& each) { return each.deferred.is_on; };
  if (!always && std::ranges::none_of(std::span{threads_}.first(count_), is_deferred)) return all;
  for (thread_index i = 0; i < count_; ++i) {
    const thread_record& each = threads_[i];
    if (each.now == status::ended) continue;
    all.alive |= static_cast<std::uint16_t>(1U << i);
    const bool may_run = each.now != status::awaiting || is_satisfied_by_newest(each);
    if (each.deferred.is_on && may_run) all.deferred |= static_cast<std::uint16_t>(1U << i);
    all.helpers[i] = helpers_of(each);
  }
  return all;
}

}  // namespace lockyard::model
