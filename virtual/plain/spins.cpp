// SPDX-License-Identifier: Apache-2.0
#include "spins.hpp"

#include "library_calls.hpp"
#include "program.hpp"

#include <model/hash.hpp>

#include <algorithm>
#include <bit>
#include <mutex>
#include <span>
#include <utility>

namespace lockyard::plain {

namespace {

/// A loop that counts is followed attempt by attempt so often, and then to its end.
constexpr unsigned most_counted = 4;
/// So many attempts are compared with the one before each, and then fewer and fewer.
constexpr unsigned most_compared = 64;

struct guarded_lines {
  std::mutex guard;
  waiting_lines lines;
};

guarded_lines& all_spins() {
  static guarded_lines all;
  return all;
}

}  // namespace

waiting_lines known_spins() {
  const std::scoped_lock held{all_spins().guard};
  return all_spins().lines;
}

void note_spin(std::source_location where) {
  const std::scoped_lock held{all_spins().guard};
  all_spins().lines.emplace(where.file_name(), where.line());
}

void forget_spins() {
  const std::scoped_lock held{all_spins().guard};
  all_spins().lines.clear();
}

void spins::note_calls() {
  const std::uint32_t calls = library_calls::made_so_far(library_calls::unseen::state);
  if (std::exchange(calls_, calls) != calls) act();
}

void spins::reset() {
  calls_ = library_calls::made_so_far(library_calls::unseen::state);
  looks_.clear();
  failures_.clear();
  done_ = {};
  caller_ = unknown;
  plain_uses_.clear();
  rewritten_.clear();
  taken_.clear();
  held_.clear();
  read_ = {};
  futile_ = {};
  attempts_.clear();
  words_.clear();
  repeated_ = 0;
  is_excused_ = false;
  failed_ = nullptr;
  released_ = {};
}

void spins::note_operands(std::uint64_t expected, std::uint64_t desired) {
  if (caller_ == unknown) return;
  model::hash128 all;
  for (const std::uint64_t each : {caller_, expected, desired}) all.mix(each);
  caller_ = all.low | 1U;
}

void spins::look(const void* from, std::uintptr_t at, std::source_location where) {
  futile_ = {};
  failed_ = nullptr;
  // A pause compares the stack with what it was, so nothing may be on it that counts.
  if (waits_for_nothing(from, at, look_kind::at_word, where)) pause(where);
  looks_.back().has_paused = false;
}

void spins::look_at_lock(const void* from, std::uintptr_t at, std::source_location where) {
  if (!may_wait_for_data()) return act();
  failed_ = nullptr;
  is_excused_ = false;
  futile_ = {};
  static_cast<void>(waits_for_nothing(from, at, look_kind::at_lock, where));
  looks_.back().has_paused = false;
  clear_dead_stack();
}

void spins::enter(model::location_index lock) {
  if (!may_wait_for_data()) return act();
  taken_.push_back(lock);
  held_.push_back(lock);
}

void spins::leave(model::location_index lock) {
  const auto last = std::ranges::find(held_.rbegin(), held_.rend(), lock);
  if (last == held_.rend()) return act();
  const auto entry = std::prev(last.base());
  const auto held_before = static_cast<std::size_t>(entry - held_.begin());
  std::erase_if(looks_, [&](const last_look& each) { return each.held > held_before; });
  failures_.clear();
  held_.erase(entry);
  release();
  if (rewritten_.size() != 0) return act();  // others may see it from here on
  failed_ = nullptr;
  is_excused_ = false;
  futile_ = {};
}

void spins::note_plain_use(std::uintptr_t at, std::size_t size, access_kind how) {
  ++uses_;
  if (looks_.empty() && failures_.empty()) return;
  plain_uses_.push_back({.begin = at,
                         .end = at + size,
                         .how = how,
                         .changes_before = execution::current()->changes_of_data()});
}

/// Waits here after a futile turn, and notes the look. Returns true after another turn, unless the
/// thread has paused in it.
[[gnu::noinline]] bool spins::waits_for_nothing(const void* from, std::uintptr_t at, look_kind what,
                                                std::source_location where) {
  const std::uint64_t state = std::exchange(caller_, unknown);
  note_calls();
  const std::uint64_t bytes = changed_bytes();
  execution& now = *execution::current();
  const last_look next{.from = from,
                       .at = at,
                       .state = state,
                       .reads = now.reads_made(),
                       .plain_uses = plain_uses_.size(),
                       .bytes = bytes,
                       .rewritten = rewritten_.size(),
                       .locks = taken_.size(),
                       .held = held_.size(),
                       .before = done_,
                       .has_paused = false};
  if (leads_nowhere(next)) now.leave_out();
  const auto is_here = [&](const last_look& each) {
    return each.from == from && each.at == at && each.held == held_.size();
  };
  const auto earlier = std::ranges::find_if(looks_.rbegin(), looks_.rend(), is_here);
  const auto same = std::ranges::find_if(looks_.rbegin(), looks_.rend(), [&](const auto& each) {
    return is_here(each) && each.state == state && each.bytes == bytes;
  });
  if (earlier == looks_.rend()) {
    add(next);
    return false;
  }
  const bool is_there = same != looks_.rend();
  const bool fills = earlier->rewritten != next.rewritten;
  const last_look before = is_there ? *same : *earlier;
  if (is_there) looks_.erase(std::next(same).base());
  add(next);
  const bool has_read = what == look_kind::at_lock || next.reads != before.reads;
  const bool is_known =
      state != unknown && has_read && done_.choices == before.before.choices && now.may_repeat();
  if (is_known && before.bytes == bytes) worker::mine().memory.functions.note_comparison();
  const bool comes_back = is_known && now.is_repeated(is_there);
  if (!comes_back && fills) return false;
  if (comes_back || what == look_kind::at_word) note_spin(where);
  if (!comes_back) return !before.has_paused;
  clear_dead_stack();
  repeat(before, what, where);
  note_pause();
  return false;
}

void spins::add(const last_look& next) {
  if (looks_.size() == most_looks) looks_.erase(looks_.begin());
  looks_.push_back(next);
}

/// The turn since that look was futile.
void spins::repeat(const last_look& since, look_kind what, std::source_location where) {
  execution& now = *execution::current();
  const std::span locks = std::span{taken_}.subspan(since.locks);
  bool has_news = false;
  data_.clear();
  if (!locks.empty()) {
    has_news = add_data(since.plain_uses);
    if (!has_news && goes_on(since, what, where)) return;
  }
  now.repeat({.reads_before = since.reads,
              .may_be_left_out = locks.empty() && may_be_left_out(since),
              .asks_time = done_.times != since.before.times,
              .data = data_,
              .locks = locks,
              .has_news = has_news},
             where);
}

/// Adds the data that the thread has read since then. True if some of it has changed.
bool spins::add_data(std::size_t since) {
  bool has_news = false;
  for (std::size_t i = since; i < plain_uses_.size(); ++i) {
    const plain_use& each = plain_uses_[i];
    has_news |= worker::mine().memory.add_data(each.begin, each.end, each.changes_before, data_);
  }
  return has_news;
}

/// Whether the thread begins another turn although nothing has changed so far. In a turn that takes
/// one lock and reads no word, it could not see what changes afterwards. In others it may, and
/// must: an execution with the same turn twice has no other faults than the one with one of them.
bool spins::goes_on(const last_look& since, look_kind what, std::source_location where) {
  execution& now = *execution::current();
  const bool sees_one_change = taken_.size() == since.locks + 1 &&
                               reads_of_turn(since.reads, now.reads_made(), since).empty();
  if (what == look_kind::at_lock && sees_one_change) return false;
  if (since.has_gone_on && has_repeated_turn(since)) now.leave_out();
  if (!now.goes_on(where)) return false;
  last_look& here = looks_.back();
  here.has_gone_on = true;
  here.reads_of_turn = since.reads;
  here.plain_uses_of_turn = since.plain_uses;
  return true;
}

/// The reads of words, without the reads of the locks themselves, which know their owners.
std::vector<model::read_before> spins::reads_of_turn(std::size_t begin, std::size_t end,
                                                     const last_look& since) const {
  std::vector<model::read_before> found;
  for (std::size_t i = begin; i < end; ++i) {
    const model::read_before each = execution::current()->read_number(i);
    const auto first = taken_.begin() + static_cast<std::ptrdiff_t>(since.locks);
    if (std::find(first, taken_.end(), each.where) == taken_.end()) found.push_back(each);
  }
  return found;
}

/// Whether the turn before that look was the same as the one since then.
bool spins::has_repeated_turn(const last_look& since) const {
  const auto before = reads_of_turn(since.reads_of_turn, since.reads, since);
  if (before != reads_of_turn(since.reads, execution::current()->reads_made(), since)) return false;
  std::vector<std::size_t> all;
  return std::none_of(plain_uses_.begin() + static_cast<std::ptrdiff_t>(since.plain_uses_of_turn),
                      plain_uses_.end(), [&](const plain_use& each) {
                        return worker::mine().memory.add_data(each.begin, each.end,
                                                              each.changes_before, all);
                      });
}

/// The last turn of the loop reads the word of this look again, and nothing else for certain.
bool spins::may_be_left_out(const last_look& since) const {
  return uses_only_what_lasts(since, execution::current()->place_of_read(since.reads).address);
}

/// Whether a failure for no reason has led back to the compare-exchange, or a read-modify-write
/// that has changed nothing to the look before it. An execution without the turn in between has the
/// same faults: the turn shows nothing to others, the thread goes on from the same state, and what
/// it knows in addition forbids faults and permits none (decisions 0093, 0104).
bool spins::leads_nowhere(const last_look& next) const {
  execution& now = *execution::current();
  if (failures_.empty() || next.state == unknown || !now.may_repeat() || !now.leaves_turns_out())
    return false;
  const auto same = std::ranges::find_if(failures_, [&](const last_look& each) {
    return each.from == next.from && each.at == next.at && each.state == next.state &&
           each.bytes == next.bytes && each.held == next.held && each.locks == next.locks &&
           each.before == next.before && each.changes == changes_;
  });
  if (same == failures_.end()) return false;
  if (same->changed != 0) {
    // If it has found the newest values, the thread has to do the same again, and waits.
    bool may_see_more = now.newest_value(same->found.word) != same->found.value;
    for (std::size_t i = same->reads; i < now.reads_made(); ++i) may_see_more |= now.is_outdated(i);
    if (!may_see_more || !lasting().has_only_words(same->changed, same->changed + 1)) return false;
  }
  worker::mine().memory.functions.note_comparison();
  return uses_only_what_lasts(*same, reinterpret_cast<const void*>(next.at));
}

/// Whether no race with the thread's uses of memory since then, besides its uses of the word, would
/// be lost without them.
bool spins::uses_only_what_lasts(const last_look& since, const void* word) const {
  execution& now = *execution::current();
  for (std::size_t i = since.reads; i < now.reads_made(); ++i) {
    const model::place& lies = now.place_of_read(i);
    if (lies.address == word || has_read_before(since, i)) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(lies.address);
    if (!lasting().lasts(begin, begin + lies.size, access_kind::atomic)) return false;
  }
  const std::span uses{plain_uses_};
  return std::ranges::all_of(uses.subspan(since.plain_uses), [&](const plain_use& each) {
    return has_used_before(since, each) || lasting().lasts(each.begin, each.end, each.how);
  });
}

/// Whether the thread has made the same use before then, and has released nothing since that use:
/// whatever races with the later use then races with that one too, and so does an end of the memory
/// (decision 0103).
bool spins::has_used_before(const last_look& then, const plain_use& use) const {
  const auto is_same = [&](const plain_use& each) {
    return each.begin <= use.begin && use.end <= each.end &&
           (each.how == use.how || each.how == access_kind::write);
  };
  const std::span uses{plain_uses_};
  return released_.plain_uses <= then.plain_uses &&
         std::ranges::any_of(uses.first(then.plain_uses).subspan(released_.plain_uses), is_same);
}

bool spins::has_read_before(const last_look& then, std::size_t which) const {
  execution& now = *execution::current();
  const model::location_index word = now.read_number(which).where;
  for (std::size_t i = released_.reads; i < then.reads; ++i) {
    if (now.read_number(i).where == word) return true;
  }
  return false;
}

void spins::release() {
  released_ = {.reads = execution::current()->reads_made(), .plain_uses = plain_uses_.size()};
}

std::uint64_t spins::changed_bytes() const {
  model::hash128 all;
  rewritten_.mix_changes(all);
  return all.low;
}

void spins::pause(std::source_location where) {
  clear_dead_stack();
  execution::current()->pause(where);
  note_pause();
}

void spins::note_pause() {
  for (last_look& each : looks_) each.has_paused = true;
}

void spins::excuse() {
  keep_look();
  is_excused_ = true;
}

void spins::keep_look() {
  if (!looks_.empty() && failures_.size() < most_looks) {
    failures_.push_back(looks_.back());
    failures_.back().changes = changes_;
  }
  looks_.clear();
}

void spins::act() {
  caller_ = unknown;
  failed_ = nullptr;
  is_excused_ = false;
  looks_.clear();
  failures_.clear();
  plain_uses_.clear();
  rewritten_.clear();
  futile_ = {};
  attempts_.clear();
  words_.clear();
  release();
}

void spins::rewrite(std::uintptr_t at, std::size_t size) {
  failed_ = nullptr;
  is_excused_ = false;
  const bool has_states = !looks_.empty() || !failures_.empty() || futile_.from != nullptr;
  if (has_states && !rewritten_.note(reinterpret_cast<const void*>(at), size)) act();
}

/// Its result alone decides whether states are compared: a counter in a register would be a part of
/// them.
[[gnu::noinline]] bool spins::is_compared() const {
  return repeated_ <= most_compared || std::has_single_bit(repeated_) ||
         std::has_single_bit(repeated_ - 1);
}

spins::attempt spins::next_attempt(const void* from, std::uintptr_t at, std::uint64_t operand) {
  note_calls();
  const bool is_repeated = futile_.from == from && futile_.at == at && futile_.operand == operand;
  execution& now = *execution::current();
  if (!is_repeated || is_compared()) {
    clear_dead_stack();
    worker::mine().memory.functions.note_comparison();
    model::hash128 all;
    all.mix(local_state());
    rewritten_.mix_changes(all);
    const bool seems_same_state = all.low == std::exchange(state_, all.low);
    comes_back_ = is_repeated && now.is_repeated(seems_same_state);
    if (comes_back_) return attempt::await;
    all.mix(rewritten_.size());
    const bool is_turn = !is_repeated && ends_turn({.from = from,
                                                    .at = at,
                                                    .operand = operand,
                                                    .state = all.low,
                                                    .words = words_.size(),
                                                    .locks = taken_.size(),
                                                    .before = done_});
    if (is_turn) return attempt::await_any;
  }
  const bool fills = rewritten_.size() != std::exchange(places_, rewritten_.size());
  if (!is_repeated || fills) {
    repeated_ = 0;
    return attempt::make;
  }
  if (++repeated_ <= most_counted) return attempt::make;
  if (repeated_ == most_counted + 1) {
    model::hash128 all;
    for (const std::uint64_t each : {state_, std::uint64_t{at}, operand, futile_.found})
      all.mix(each);
    run_ = now.begin_long_run(all.low);
  }
  comes_back_ = false;
  return now.has_no_end(run_, repeated_) ? attempt::await : attempt::skip;
}

void spins::end_wait() const {
  execution& now = *execution::current();
  const bool is_alone =
      futile_.plain_uses == uses_ && futile_.locks == taken_.size() && futile_.before == done_;
  if (!comes_back_ || !is_alone || !now.leaves_turns_out()) return;
  if (lasting().has_only_words(futile_.at, futile_.at + 1)) now.leave_out();
}

/// Whether the turn since the same attempt was futile: no read-modify-write in it has changed
/// anything. Notes the attempt.
bool spins::ends_turn(const past_attempt& next) {
  const auto is_here = [&](const past_attempt& each) {
    return each.from == next.from && each.at == next.at && each.operand == next.operand;
  };
  const auto same = std::ranges::find_if(attempts_, [&](const past_attempt& each) {
    return is_here(each) && each.state == next.state && each.locks == next.locks &&
           each.before == next.before;
  });
  execution& now = *execution::current();
  const bool is_known = std::ranges::any_of(attempts_, is_here) && now.may_repeat();
  const bool was_here = same != attempts_.end();
  const bool comes_back = is_known && now.is_repeated(was_here);
  const bool waits = comes_back && list_turn(was_here ? same->words : 0);
  if (was_here) attempts_.erase(same);
  if (attempts_.size() == most_looks) attempts_.erase(attempts_.begin());
  attempts_.push_back(next);
  return waits;
}

/// Lists the words of the turn. False if one of them has changed in it, so that the next turn may
/// be another one.
bool spins::list_turn(std::size_t begin) {
  turn_.clear();
  for (std::size_t i = begin; i < words_.size(); ++i) {
    const word_value& each = words_[i];
    const auto before = std::ranges::find(turn_, each.word, &word_value::word);
    if (before == turn_.end()) {
      turn_.push_back(each);
    } else if (before->value != each.value) {
      return false;
    }
  }
  return turn_.size() <= model::max_looks;
}

void spins::note_futile(const void* from, std::uintptr_t at, std::uint64_t operand,
                        const word_value& found) {
  // What leads back to a look before it is left out like a failure for no reason.
  ++changes_;
  if (!looks_.empty()) {
    looks_.back().changed = at;
    looks_.back().found = found;
  }
  keep_look();
  release();
  futile_ = {.from = from,
             .at = at,
             .operand = operand,
             .found = found.value,
             .plain_uses = uses_,
             .locks = taken_.size(),
             .before = done_};
}

}  // namespace lockyard::plain
