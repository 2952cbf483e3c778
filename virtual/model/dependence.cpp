// SPDX-License-Identifier: Apache-2.0

// Which operations depend on which steps. A deferred operation may run again once a step has been
// made on which it depends; before, both orders lead to the same execution graph.
//
// The operation itself is known before its step, except in a section, whose operations are one
// step. The words that sections use are learned: the search begins anew when a section uses another
// one. A section that only stores to a word does not depend on other stores to it, since a store
// may take any place in modification order that the threads' knowledge permits, whenever it is
// made.

#include "execution.hpp"

#include <algorithm>

namespace lockyard::model {

namespace {

// Two wakes that find no thread are independent, and so are two sleeps if a wake takes any sleeper.
constexpr unsigned any_use = ~0U;
constexpr auto by_wakes =
    static_cast<unsigned>(queue_use::takes) | static_cast<unsigned>(queue_use::finds_none);
constexpr auto if_some_sleep =
    static_cast<unsigned>(queue_use::joins) | static_cast<unsigned>(queue_use::takes);

/// Which line uses a word of code without a world first differs, so such a word is known by its
/// memory.
std::uint64_t key_of(const location& word) {
  if (execution::name_of_memory != nullptr) return word.name;
  return reinterpret_cast<std::uintptr_t>(word.where.file_name()) ^
         std::uint64_t{word.where.line()} << 48U ^ std::uint64_t{word.where.column()} << 40U;
}

}  // namespace

bool execution::is_in(const std::vector<std::uint64_t>& list, location_index where) const {
  return !list.empty() && std::ranges::find(list, memory_.at(where).users.word) != list.end();
}

location_index execution::with_known_users(location_index fresh) {
  location& at = memory_.to_change(fresh);
  const std::uint64_t word = key_of(at);
  at.users.word = word;
  if (!reduces()) return fresh;
  const auto known = std::ranges::find(conflicts_->users, word, &word_users::word);
  if (known != conflicts_->users.end()) at.users = *known;
  if (conflicts_->all_may_write) at.users.writers = all_threads;
  return fresh;
}

void execution::learn_user(std::uint16_t word_users::*list, location_index where) {
  if (is_set_up() || !reduces()) return;
  // An execution with these threads exchanged is not searched, but may be one that shows the fact.
  const std::uint16_t those = me().alike;
  if ((memory_.at(where).users.*list & those) == those) return;
  word_users& users = memory_.to_change(where).users;
  users.*list |= those;
  if (!learned_) learned_ = *conflicts_;
  auto& all = learned_->users;
  const auto known = std::ranges::find(all, users.word, &word_users::word);
  if (known == all.end()) {
    all.push_back(users);
  } else {
    (*known).*list |= those;
  }
}

bool execution::others_are_in(std::uint16_t threads, const thread_record& of) const {
  for (thread_index i = 0; threads >> i != 0; ++i) {
    const thread_record& each = threads_[i];
    if ((threads >> i & 1U) != 0 && &each != &of && each.now != status::ended) return true;
  }
  return false;
}

void execution::note_last_write(location_index where) {
  memory_.to_change(where).users.writers = 0;
}

void execution::learn(std::vector<std::uint64_t> conflicts::*list, location_index where) {
  if (is_set_up() || !reduces() || is_in(conflicts_->*list, where)) return;
  if (!learned_) learned_ = *conflicts_;
  (*learned_.*list).push_back(memory_.at(where).users.word);
}

void execution::learn(bool conflicts::*fact) {
  if (is_set_up() || !reduces() || conflicts_->*fact) return;
  if (!learned_) learned_ = *conflicts_;
  *learned_.*fact = true;
}

void execution::use_up(cap which) {
  reach(which);
  const auto bit = static_cast<std::size_t>(which);
  if (!forgets_past() || is_set_up() || !reduces() || conflicts_->used_up[bit]) return;
  if (!learned_) learned_ = *conflicts_;
  learned_->used_up.set(bit);
}

void execution::note_newest(location_index where) {
  learn_user(&word_users::lookers, where);
  note_read_within(where);
  done_.newest.push_back(where);
}

void execution::note_write(location_index where) {
  if (me().undisturbed) learn(&conflicts::written_within, where);
  done_.written.push_back(where);
}

void execution::note_read_within(location_index where) {
  if (me().undisturbed) learn(&conflicts::read_within, where);
}

void execution::note_queue(const void* address, queue_use how) {
  if (me().undisturbed) learn(&conflicts::has_queue_within);
  done_.queues.emplace_back(address, how);
  disturb_sleeps(address);
}

void execution::note_unordered() {
  if (!is_set_up()) leave_nothing_out();
}

void execution::leave_nothing_out() {
  if (!reduces()) return;
  if (!learned_) learned_ = *conflicts_;
  learned_->has_unordered = true;
}

void execution::search_anew() {
  if (reduces() && !by_->is_translated() && !learned_) learned_ = *conflicts_;
}

void execution::note_unseen() {
  if (conflicts_ == nullptr || conflicts_->has_unseen) return;
  if (!learned_) learned_ = *conflicts_;
  learned_->has_unordered = true;
  learned_->has_unseen = true;
}

/// Called by the fence itself, at its step.
void execution::note_heavy_fence() {
  done_.has_fenced = true;
  done_.has_fenced_heavily = true;
  learn(&conflicts::has_heavy_fence);
}

void execution::note_loop() {
  compares_states_ = true;
  learn(&conflicts::has_loops);
}

void execution::undisturbed(bool from_now_on) {
  undisturbed(from_now_on, me().last_change);
}

void execution::undisturbed(bool from_now_on, location_index first) {
  me().undisturbed = from_now_on;
  if (from_now_on) learn(&conflicts::sections, first);
}

upcoming execution::upcoming_of(const thread_record& of) const {
  if (of.now == status::awaiting) {
    if (is_in(conflicts_->sections, of.looks.front().where)) return upcoming::section;
    // A deadline that passes early is one of few, and an old value may be missed.
    const bool goes_on = !of.deferred.is_on && !of.deadline && is_satisfied_by_newest(of) &&
                         !may_meet_others(upcoming::awaits, of);
    return goes_on ? upcoming::alone : upcoming::awaits;
  }
  if (of.now == status::repeating && (of.reads.empty() || has_changed_data(of))) {
    return upcoming::alone;  // the thread goes on, and no more
  }
  if (of.now != status::ready) return upcoming::other;
  const upcoming next = of.next.does;
  switch (next) {
    case upcoming::light_fence:
      return conflicts_->has_heavy_fence ? upcoming::light_fence : upcoming::alone;
    case upcoming::changes:
      if (is_in(conflicts_->sections, of.next.where)) return upcoming::section;
      // The owner's message is the newest one, and others may read it afterwards too.
      if (of.next.releases && !of.deferred.is_on && !may_meet_others(upcoming::stores, of))
        return upcoming::alone;
      [[fallthrough]];
    case upcoming::reads:
    case upcoming::stores:
      return of.deferred.is_on || may_meet_others(next, of) ? next : upcoming::alone;
    default: return next;
  }
}

/// The threads that may do something on which the thread's next operation depends.
std::uint16_t execution::users_met_by(upcoming next, const thread_record& of) const {
  const auto on = [&](location_index where, bool writes, bool reads) {
    const word_users& users = memory_.at(where).users;
    return static_cast<std::uint16_t>((writes ? users.lookers : 0U) | (reads ? users.writers : 0U));
  };
  switch (next) {
    case upcoming::stores: return on(of.next.where, true, false);
    case upcoming::reads: return on(of.next.where, false, true);
    case upcoming::changes: return on(of.next.where, true, true);
    case upcoming::awaits: {
      std::uint16_t all = 0;
      for (const look& each : of.looks) all |= on(each.where, of.exchanges, true);
      return all;
    }
    default: return all_threads;
  }
}

/// Whether another thread may still do something on which the thread's next operation depends.
bool execution::may_meet_others(upcoming next, const thread_record& of) const {
  return others_are_in(users_met_by(next, of), of);
}

/// Whether the thread's next operation depends on what the last step has done. For what is read,
/// has_news() tells instead.
bool execution::depends_on_step(const thread_record& of) const {
  const upcoming next = upcoming_of(of);
  const bool may_use_memory = next == upcoming::section || next == upcoming::other;
  // Code without a world uses memory besides words.
  if (may_use_memory && name_of_memory != nullptr) return done_.any() || !done_.newest.empty();
  switch (next) {
    case upcoming::alone:
    case upcoming::reads: return false;
    case upcoming::changes:
    case upcoming::stores: return done_.has_looked_at(of.next.where);
    case upcoming::awaits:
      for (std::size_t look = 0; look < of.looks.size(); ++look) {
        const location_index where = of.looks[look].where;
        // One look may let another one be reached.
        const bool has_more = memory_.at(where).messages.size() > of.deferred.known[look];
        if (of.looks.size() > 1 && has_more) return true;
        if (of.exchanges && done_.has_looked_at(where)) return true;
      }
      return false;
    case upcoming::sleeps:
      return done_.has_written(of.next.where) ||
             done_.has_queued_at(of.next.address, settings_.wakes_any ? by_wakes : any_use);
    case upcoming::wakes: return done_.has_queued_at(of.next.address, if_some_sleep);
    case upcoming::section:
      return section_depends_on_step(of.now == status::awaiting ? of.looks.front().where
                                                                : of.next.where);
    case upcoming::other:
      if (of.now == status::sleeping) {
        return done_.has_queued_at(memory_.at(of.sleeps_on).lies.address);
      }
      return done_.any();
    case upcoming::light_fence: return done_.has_fenced_heavily;
    case upcoming::heavy_fence: return done_.has_fenced;
  }
  return true;
}

bool execution::section_depends_on_step(location_index begins) const {
  const auto is_read = [&](location_index where) {
    return where == begins || is_in(conflicts_->read_within, where);
  };
  const auto is_written = [&](location_index where) {
    return where == begins || is_in(conflicts_->written_within, where);
  };
  return done_.has_fenced || (conflicts_->has_queue_within && !done_.queues.empty()) ||
         std::ranges::any_of(done_.written, is_read) ||
         std::ranges::any_of(done_.newest, is_written);
}

/// What the last step has done lets deferred threads run.
void execution::wake_after_step(thread_index ran) {
  threads_[ran].deferred = {};
  for (thread_index i = 0; i < count_; ++i) {
    thread_record& each = threads_[i];
    if (each.deferred.is_on && depends_on_step(each)) each.deferred = {};
  }
  done_.clear();
}

}  // namespace lockyard::model
