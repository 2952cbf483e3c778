// SPDX-License-Identifier: Apache-2.0

// Leaves out orders of steps. Executions are the same if their graphs are: which message each read
// takes, and the modification orders. Every order of the steps that respects the threads and the
// reads leads to the same graph, so one of them is enough.
//
// The search chooses a thread for each state. If its next operation is independent of all that
// other threads will ever do, only that thread runs: a store is, because a later read may still
// take the older message; so is a read of a word that no other thread will write (decision 0082).
// If its operation is another read, there are two cases, and no third one: the thread runs and
// reads a message that exists, or it is deferred and reads a message that does not exist yet. So a
// graph is reached along one path. A path ends as soon as it is clear that no new message will come
// (decision 0096).
//
// Sleeping looks at the newest message, and wakes meet the sleepers that are there, so their order
// among themselves and among the writes counts: these operations are deferred until another such
// step has been made. A deadline that passes because no thread has to go on comes after all steps
// before it.

#include "execution.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace lockyard::model {

namespace {

/// Operations that are independent of all others come first, those that wait for new messages next.
int rank_of(upcoming what) {
  switch (what) {
    case upcoming::alone: return 0;
    case upcoming::wakes: return 1;
    case upcoming::reads:
    case upcoming::changes:
    case upcoming::awaits:
    case upcoming::light_fence: return 2;
    case upcoming::stores:
    case upcoming::sleeps:
    case upcoming::section:
    case upcoming::other:
    case upcoming::heavy_fence: return 3;
  }
  return 3;
}

}  // namespace

void execution::defer(thread_record& thread) {
  thread.deferred.is_on = true;
  thread.deferred.awaits = thread.now == status::awaiting;
  if (thread.deferred.awaits) {
    for (std::size_t i = 0; i < thread.looks.size(); ++i) {
      thread.deferred.known[i] =
          static_cast<message_index>(memory_.at(thread.looks[i].where).messages.size());
    }
  } else if (thread.next.does == upcoming::reads || thread.next.does == upcoming::changes) {
    thread.deferred.known[0] =
        static_cast<message_index>(memory_.at(thread.next.where).messages.size());
  }
}

bool execution::has_news(const thread_record& of, std::size_t look, location_index where) {
  const location& at = memory_.at(where);
  const std::size_t oldest = memory_.oldest_readable(where, of.known);
  for (std::size_t i = of.deferred.known[look]; i < at.messages.size(); ++i) {
    if (at.position[i] < oldest) continue;
    if (of.now != status::awaiting || of.looks[look].holds(at.messages[i].value)) return true;
  }
  return false;
}

/// Whether the thread may run here.
bool execution::is_awake(thread_record& of) {
  if (!of.deferred.is_on) return true;
  if (of.now == status::repeating && has_changed_data(of)) return true;
  switch (upcoming_of(of)) {
    case upcoming::reads:
    case upcoming::changes: return has_news(of, 0, of.next.where);
    case upcoming::awaits: return has_news(of, 0, of.looks.front().where);
    default: return false;
  }
}

/// Chooses the thread that runs: one whose operation is independent of all others, if there is one.
/// Otherwise each thread may run, and the threads before it are deferred. Returns nothing if all
/// are deferred: other executions lead on from here.
std::optional<option> execution::pick_reduced() {
  // A deadline that passes because no thread has to go on comes after all steps before it.
  if (is_last_resort_) {
    std::erase_if(options_, [this](const option& each) {
      return each.how != variant::time_out && !is_awake(threads_[each.thread]);
    });
    return choose_option();
  }
  awake_.clear();
  for (const option& each : options_) {
    thread_record& thread = threads_[each.thread];
    if ((!awake_.empty() && awake_.back().second == each.thread) || !is_awake(thread)) continue;
    awake_.emplace_back(rank_of(upcoming_of(thread)), each.thread);
  }
  if (awake_.empty()) return std::nullopt;
  std::ranges::sort(awake_);
  awake_.erase(std::ranges::unique(awake_).begin(), awake_.end());
  if (awake_.front().first == 0) awake_.resize(1);
  waits_for_steps waits = list_waits(awake_.size() > 1);
  if (some_stay_deferred(waits)) return std::nullopt;
  // Each thread in turn runs, and defers those before it, as long as these may run in the end.
  std::swap(options_, all_options_);
  options_.clear();
  std::uint16_t before = 0;
  for (const auto& [rank, which] : awake_) {
    for (option each : all_options_) {
      // Only a read differs where something is new.
      if (each.thread != which) continue;
      if (threads_[which].deferred.is_on && each.how != variant::run) continue;
      each.defers = before;
      options_.push_back(each);
    }
    before = static_cast<std::uint16_t>(before | 1U << which);
    if (which == awake_.back().second) break;
    waits.deferred |= before;
    waits.helpers[which] = helpers_if_deferred(threads_[which]);
    if (some_stay_deferred(waits)) break;
  }
  if (options_.empty()) return std::nullopt;
  return choose_option();
}

option execution::choose_option() {
  const unsigned taken =
      by_->choose_always(choice_kind::thread, static_cast<unsigned>(options_.size()));
  const option next = options_[taken];
  by_->last_means(next.number());
  return next;
}

/// Chooses one of the candidates that are not left out; a deferred operation has read the old ones
/// elsewhere.
std::size_t execution::choose_candidate(std::source_location where) {
  const deferral deferred = std::exchange(me().deferred, {});
  // Where threads read old values first, they reach a state with many steps back first, and the
  // search need not go on from it again (state_cache.hpp). All workers have the same order.
  const bool oldest_first = searches_states();
  if (!deferred.is_on && left_out_.empty() && !oldest_first) {
    return choose(choice_kind::message, candidates_.size(), where);
  }
  allowed_.clear();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const auto& [which, index] = candidates_[i];
    const bool is_new = !deferred.is_on || index >= deferred.known[deferred.awaits ? which : 0];
    if (is_new && std::ranges::find(left_out_, i) == left_out_.end()) {
      allowed_.push_back(static_cast<std::uint8_t>(i));
    }
  }
  left_out_.clear();
  if (allowed_.empty()) {
    is_redundant_ = true;
    for (;;) switch_out();  // never continued
  }
  if (oldest_first) std::ranges::reverse(allowed_);
  return choose_of_allowed(candidates_.size(), where);
}

void execution::mix_deferrals(hash128& all) const {
  for (thread_index i = 0; i < count_; ++i) {
    const thread_record& each = threads_[i];
    if (!each.deferred.is_on) continue;
    all.mix(i + std::uint64_t{1});
    const auto mix_new = [&](std::size_t look, location_index where) {
      const location& at = memory_.at(where);
      hash128 news;
      for (std::size_t m = each.deferred.known[look]; m < at.messages.size(); ++m) {
        hash128 one;
        one.mix(at.messages[m].by.name());
        news.add(one);
      }
      all.mix(news);
    };
    switch (upcoming_of(each)) {
      case upcoming::reads:
      case upcoming::changes: mix_new(0, each.next.where); break;
      case upcoming::awaits:
        for (std::size_t look = 0; look < each.looks.size(); ++look) {
          mix_new(look, each.looks[look].where);
        }
        break;
      default: break;
    }
  }
}

/// Writes down the choice of a thread as it would be without reduction.
void execution::translate(const option& next) {
  if (!takes_turns_from_) put_last_first();  // as pick() does, and pick_in_turn() does not
  const auto same = std::ranges::find_if(options_, [&](const option& each) {
    return each.thread == next.thread && each.how == next.how;
  });
  by_->translate(choice_kind::thread, static_cast<unsigned>(same - options_.begin()),
                 static_cast<unsigned>(options_.size()));
}

}  // namespace lockyard::model
