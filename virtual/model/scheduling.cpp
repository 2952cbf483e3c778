// SPDX-License-Identifier: Apache-2.0

// Which threads may go on, which one does, and when none can.

#include "execution.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace lockyard::model {

namespace {

/// Whether the last step has chosen something besides the thread that made it, or there was none.
bool has_chosen(std::span<const choice> made) {
  if (made.empty()) return true;
  const choice& last = made.back();
  return last.kind != choice_kind::thread || last.means == unknown_meaning;
}

}  // namespace

execution::stepped execution::step(const gate& goes_on) {
  const bool is_deep = steps_ >= settings_.depth;
  const bool finishes = settings_.finishing != 0 && (is_deep || is_short_of_room_);
  if (finishes) {
    if (!takes_turns_from_) takes_turns_from_ = steps_;
    reach(is_deep ? cap::depth : cap::writes);
    by_->settle();
    if (steps_ % 64 == 0 && is_called_off && is_called_off()) return stepped::cut;
  }
  if (steps_ >= settings_.depth + settings_.finishing) {
    list_options();
    if (options_.empty()) return stepped::nowhere;
    verdict_ = verdict::inconclusive;
    what_ = "deeper than " + std::to_string(settings_.depth) + " steps";
    return stepped::on;
  }
  try {
    // Only the meaning is needed of a choice that was made before.
    // The choices of finish() come after the last one of a thread.
    const bool have_ended =
        std::ranges::all_of(std::span{threads_}.first(count_),
                            [](const auto& each) { return each.now == status::ended; });
    const auto known = have_ended ? std::nullopt : by_->take_known(choice_kind::thread);
    if (!known || by_->is_translated()) {
      list_options();
      if (is_redundant_) return stepped::cut;
      if (options_.empty()) return stepped::nowhere;
      if (!finishes && by_->is_new() && !is_worth_going_on(goes_on)) return stepped::cut;
      if (!finishes && may_take_snapshot()) take_snapshot();
    }
    if (verdict_ != verdict::passed) return stepped::on;
    const auto next = known       ? option::of(*known)
                      : finishes  ? pick_in_turn()
                      : reduces() ? pick_reduced()
                                  : pick();
    if (!next) return stepped::cut;
    if (!is_possible(*next)) throw not_deterministic{by_->used()};
    if (by_->is_translated()) translate(*next);
    ++steps_;
    for (thread_index i = 0; next->defers >> i != 0; ++i) {
      if ((next->defers >> i & 1U) != 0) defer(threads_[i]);
    }
    take(*next);
    if (forgets_past()) futures_.note_step(next->thread);
    if (reduces()) wake_after_step(next->thread);
    // An execution that has learned something goes on: it may learn more.
    if (is_redundant_ && verdict_ == verdict::passed) return stepped::cut;
  } catch (const not_deterministic& fault) {
    verdict_ = verdict::not_deterministic;
    what_ = "the threads that can continue differ at choice " + std::to_string(fault.step);
  } catch (const stale_replay& fault) {
    verdict_ = verdict::not_deterministic;
    what_ = "the list of choices does not fit at choice " + std::to_string(fault.step);
  }
  return stepped::on;
}

/// With reduction, a state is looked up where the search branches: where several options are left,
/// and behind a step that has made a choice. From other states an execution has one way to go, and
/// if it has been there before it ends at the next state that is looked up.
bool execution::is_worth_going_on(const gate& goes_on) {
  const auto has_one_way = [this] {
    unsigned left = 0;
    for (const option& each : options_) {
      thread_record& thread = threads_[each.thread];
      if (!is_awake(thread)) continue;
      const bool runs_first = !is_last_resort_ && upcoming_of(thread) == upcoming::alone;
      if (runs_first) return true;
      ++left;
    }
    return left <= 1;
  };
  if (reduces() && !has_chosen(by_->list()) && has_one_way()) return true;
  if (!goes_on) return true;
  if (const auto key = futures_.key()) return goes_on(*key);
  const hash128 now = prefix();
  if (previous_ && *previous_ == now) {
    verdict_ = verdict::not_deterministic;
    what_ = "a step left no trace (a fault of the checker)";
    return true;
  }
  previous_ = now;
  return goes_on({.name = now, .steps_back = 0});
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
    if (!may_pass(end_of(*chosen.deadline))) {
      forget_old(chosen);
      for (thread_record& each : threads_) each.deferred = {};
    }
    pass(end_of(*chosen.deadline));
  }
  const bool sleeps = chosen.now == status::sleeping || chosen.now == status::queued;
  if (sleeps && next.how != variant::run) {
    running_ = next.thread;
    note_queue(memory_.at(chosen.sleeps_on).lies.address, queue_use::takes);
    chosen.has_woken_idly = next.how == variant::spurious;
    if (chosen.has_woken_idly) end_sleep_idly(chosen);
    std::erase(sleepers_[chosen.sleeps_on], next.thread);
    chosen.woken_by = next.how == variant::time_out ? sleep_end::timed_out : sleep_end::woken;
  }
  if (next.preempts) ++preemptions_;
  last_ = next.thread;
  resume(next.thread);
}

void execution::list_options() {
  options_.clear();
  is_last_resort_ = !list_runnable();
  if (is_redundant_) return;
  if (is_last_resort_) list_last_resorts();
  if (options_.empty()) return;
  for (thread_index i = 0; i < count_; ++i) {
    const thread_record& each = threads_[i];
    if (each.deadline && !may_pass(end_of(*each.deadline)) &&
        end_of(*each.deadline).when == passes::early) {
      use_up(cap::timeouts);
    }
    // A sleeper may wake for no reason, but no thread may rely on it: without it, the others go on,
    // or a deadline passes.
    if (each.now != status::sleeping || each.sleeps != sleep_kind::usual) continue;
    if (each.may_wake_idly == idle_wake::free ||
        (each.may_wake_idly == idle_wake::counted && spurious_left_ > 0)) {
      options_.push_back({.thread = i, .how = variant::spurious});
    } else if (each.may_wake_idly == idle_wake::counted) {
      use_up(cap::spurious_wakes);
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
    const bool has_news = each.now == status::repeating && has_news_of_loop(each);
    if (has_news && each.repeats.may_be_left_out && leaves_turns_out()) is_redundant_ = true;
    const bool runs = each.now == status::ready || each.now == status::counting || has_news ||
                      (each.now == status::pausing && pause_is_over(each));
    if (runs || (awaits && is_satisfiable(each))) {
      options_.push_back({.thread = i, .how = variant::run});
      if (runs || each.spins_in_kernel || is_satisfied_by_newest(each)) can_go_on = true;
    }
    const bool waits = awaits || each.now == status::sleeping || each.now == status::queued;
    if (!waits || !each.deadline) continue;
    const end_of_wait& end = end_of(*each.deadline);
    if (!may_pass(end) || (end.waits_only && awaits && is_satisfied_by_newest(each))) continue;
    options_.push_back({.thread = i, .how = variant::time_out});
    can_go_on = true;
  }
  return can_go_on;
}

/// A thread that has given way, or waits for time to pass, comes before the deadlines.
void execution::list_last_resorts() {
  const auto list = [this](variant how, auto is_listed) {
    const std::size_t before = options_.size();
    for (thread_index i = 0; i < count_; ++i) {
      if (is_listed(threads_[i])) options_.push_back({.thread = i, .how = how});
    }
    return options_.size() != before;
  };
  const auto has_ended = [](const thread_record& each) { return each.now == status::ended; };
  const bool can_go_on =
      list(variant::run,
           [](const auto& each) {
             return each.now == status::giving_way ||
                    (each.now == status::repeating && each.repeats.asks_time);
           }) ||
      list(variant::time_out, [&](const auto& each) { return each.deadline && !has_ended(each); });
  const bool all_ended = std::ranges::all_of(std::span{threads_}.first(count_), has_ended);
  if (!all_ended && !can_go_on && !has_given_up_ && !program_has_ended_) note_hang();
}

/// A loop of the code's own that waits so compares values, and orders nothing.
bool execution::waits_in_library(const thread_record& of) {
  return of.looks.front().predicate == nullptr ||
         of.looks.front().order != std::memory_order_relaxed;
}

/// The word whose value a spinning thread has read last.
std::optional<location_index> execution::word_of_spin(const thread_record& of) {
  if (of.now == status::awaiting) return of.looks.front().where;
  if (of.reads.empty()) return std::nullopt;
  return of.reads.back().where;
}

void execution::note_hang() {
  options_.clear();
  for (const thread_record& each : std::span{threads_}.first(count_)) {
    // In another execution it sleeps forever, or its sleep has ended in time.
    if (each.now == status::awaiting && each.spins_in_kernel) is_redundant_ = true;
    if (each.now == status::sleeping && each.sleeps_in_time) is_redundant_ = true;
  }
  if (is_redundant_) return;
  verdict_ = verdict::hang;
  for (thread_index i = 0; i < count_; ++i) {
    const status now = threads_[i].now;
    if (now == status::ended) continue;
    what_ += (what_.empty() ? "" : ", ") + std::string{"T"} + std::to_string(i);
    const bool is_in_library =
        now == status::awaiting && name_of_memory != nullptr && waits_in_library(threads_[i]);
    if (now == status::sleeping || now == status::queued || now == status::unnotified) {
      what_ += " sleeps on " + described(threads_[i].sleeps_on);
    } else if (now == status::repeating && threads_[i].repeats.waited_with) {
      what_ += " waits for " + described(threads_[i].repeats.waited_with->where);
    } else if (is_in_library) {
      running_ = i;
      const std::string waits = "waits for " + described(threads_[i].looks.front().where);
      if (threads_[i].looks_at.line() != 0) tell(threads_[i].looks_at, waits);
      what_ += " " + waits;
    } else if (now == status::stuck) {
      what_ += " spins on plain data";
    } else {
      what_ += " spins";
      if (const auto word = word_of_spin(threads_[i])) what_ += " on " + described(*word);
      const bool missed = now == status::awaiting && is_satisfiable(threads_[i]);
      if (missed) what_ += " and missed its value";
    }
  }
  what_ = "no thread can continue: " + what_;
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

option execution::pick() {
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

/// The threads take turns that become longer: no loop of one thread keeps another from its work,
/// and no two threads keep step with each other. Nothing wakes for no reason.
option execution::pick_in_turn() {
  const auto runs = [this](thread_index which) {
    return std::ranges::find_if(options_, [which](const option& each) {
      return each.thread == which && each.how == variant::run;
    });
  };
  auto chosen = options_.begin();
  const thread_index first = last_.value_or(0);
  const bool stays = turn_left_ > 0 && runs(first) != options_.end();
  for (thread_index i = stays ? 0 : 1; i <= count_; ++i) {
    const auto next = runs(static_cast<thread_index>((first + i) % count_));
    if (next == options_.end()) continue;
    chosen = next;
    break;
  }
  if (!stays) turn_left_ = 50 + (steps_ - takes_turns_from_.value_or(steps_)) / 4;
  --turn_left_;
  const unsigned taken =
      by_->decide(choice_kind::thread, static_cast<unsigned>(chosen - options_.begin()),
                  static_cast<unsigned>(options_.size()));
  by_->last_means(options_[taken].number());
  return options_[taken];
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
    if (settings_.wakes_any) {
      for (const thread_index sleeper : sleepers_[i]) queue += std::uint64_t{1} << (8U + sleeper);
    } else {
      for (const thread_index sleeper : sleepers_[i]) queue = queue * 16 + sleeper + 1;
    }
    all.mix(queue);
  }
  std::uint64_t disturbed = 0;
  for (thread_index i = 0; i < count_; ++i) {
    const auto& slept = threads_[i].repeats.slept;
    if (slept && slept->is_disturbed) disturbed |= std::uint64_t{1} << i;
  }
  all.mix(disturbed);
  all.mix(spurious_left_);
  all.mix(hours_);
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

bool execution::is_satisfied_by_newest(const thread_record& of) const {
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
