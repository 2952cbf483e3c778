// SPDX-License-Identifier: Apache-2.0

// Loops that come back to where they were. A thread is in the same state if its stack, its
// registers and what it knows are the same, and it has done nothing in between that others can
// see. The thread could have done the rest the first time: a loop that pauses goes on only
// once something has changed, and an execution ends where a failure for no reason has led back to
// the compare-exchange.

#include "events.hpp"
#include "execution.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace lockyard::model {

namespace {

/// After so many turns a loop that counts them is taken for one that does not end.
constexpr std::uint32_t most_turns = 20'000;
/// So far is it run if it is known to have no end: other turns may differ from the first ones.
constexpr std::uint32_t turns_of_endless = 256;

void mix(hash128& all, const view& of, std::size_t locations, thread_index self) {
  for (std::size_t i = 0; i < locations; ++i) all.mix(of.oldest[i]);
  for (std::size_t i = 0; i < of.happened.of.size(); ++i) {
    if (i != self) all.mix(of.happened.of[i]);
  }
}

}  // namespace

/// Overwrites what calls have left below the caller's frame: it would lie in unused parts of later
/// frames, and make states differ that are the same.
[[gnu::noinline]] void execution::clear_dead_stack() {
  std::array<std::byte, 1024> dead;  // NOLINT(*-member-init): that is what follows
  explicit_bzero(dead.data(), dead.size());
}

/// The context of a fiber that does not run is the end of its stack, where its registers are.
hash128 execution::state_of_stack(const thread_record& thread) const {
  const auto* const top = stacks_.top(static_cast<std::size_t>(&thread - threads_.data()));
  const auto* from = static_cast<const std::byte*>(thread.context);
  hash128 all;
  for (; top - from >= std::ptrdiff_t{sizeof(std::uint64_t)}; from += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    all.mix(word);
  }
  return all;
}

void execution::note_state(thread_index which) {
  thread_record& thread = threads_[which];
  thread.notes_state = false;
  repetition& repeats = thread.repeats;
  hash128 knowledge;
  for (const view* each :
       {&thread.known.current, &thread.known.to_acquire, &thread.known.to_release}) {
    mix(knowledge, *each, memory_.count(), which);
  }
  for (std::size_t i = 0; i < memory_.count(); ++i) knowledge.mix(thread.known.refreshed[i]);
  repeats.knowledge = knowledge;
  repeats.code = state_of_stack(thread);
  repeats.rewritten.mix_changes(repeats.code);
  repeats.state = repeats.code;
  repeats.state.mix(knowledge);
  if (thread.now == status::pausing) return note_pause(thread);
  if (thread.now == status::sleeping) return note_sleep(thread);
  // The step was a failure for no reason and nothing else, and has led back to where it began.
  // Without it the thread knows less, so the same faults follow (decision 0093).
  if (repeats.failed_at == 0 || repeats.failed_at != thread.events) return;
  const repetition::failure& before = repeats.failures.back();
  is_redundant_ |=
      is_repeated(leaves_turns_out() ? repeats.code == before.code : repeats.state == before.state);
}

/// Says what the thread that pauses waits for: nothing, unless it was there before. A loop may
/// pause in several places.
void execution::note_pause(thread_record& thread) {
  repetition& repeats = thread.repeats;
  const bool has_learned = repeats.knowledge != repeats.known_at_pause;
  if (has_learned) repeats.at_pauses.clear();
  hash128 state = repeats.state;
  state.mix(repeats.failures.size());  // a turn with a failure for no reason waits for nothing
  const bool was_here = std::ranges::find(repeats.at_pauses, state) != repeats.at_pauses.end();
  const bool comes_back = !has_learned && is_repeated(was_here);
  // A loop that fills memory does not wait, and neither does one that looks at nothing.
  const bool has_looked = !thread.reads.empty() || repeats.skipped;
  const std::size_t rewritten = repeats.rewritten.size();
  const bool fills = std::exchange(repeats.rewritten_at_pause, rewritten) != rewritten;
  const bool has_written = std::exchange(repeats.has_written_plain, false);
  if (!comes_back && (fills || (has_written && !has_looked))) repeats.at_pauses.clear();
  repeats.at_pauses.push_back(state);
  repeats.known_at_pause = repeats.knowledge;
  if (comes_back) {
    if (repeats.skipped) thread.reads.push_back(*repeats.skipped);
    if (waits_for_plain_data(thread)) thread.now = status::stuck;
    return;
  }
  const std::size_t in_a_row = repeats.at_pauses.size() - 1;
  thread.now = in_a_row > settings_.counted_pauses ? status::counting : status::ready;
}

/// Unused bytes of the stack may differ where an execution is run again with other work in
/// between, so the first comparison is kept.
bool execution::is_repeated(bool seems_repeated) {
  try {
    return by_->record(choice_kind::state, seems_repeated);
  } catch (const not_deterministic& fault) {
    what_ = "the state of a loop differs at choice " + std::to_string(fault.step);
  } catch (const stale_replay& fault) {
    what_ = "the list of choices does not fit at choice " + std::to_string(fault.step);
  }
  verdict_ = verdict::not_deterministic;
  return false;
}

/// Others may see the difference, so the thread is nowhere where it was before.
void execution::act(thread_record& thread) {
  for (const auto& each : thread.repeats.failures) {
    thread.repeats.past_failures.push_back(each.site);
  }
  thread.repeats.failures.clear();
  thread.repeats.failed_at = 0;
  thread.repeats.rewritten.clear();
  thread.repeats.rewritten_at_pause = 0;
  thread.repeats.plain = {};
  thread.repeats.at_pauses.clear();
  thread.repeats.known_at_pause = {};
  thread.repeats.skipped.reset();
  thread.repeats.waited_with.reset();
}

/// Others can see the bytes once the thread has done more. Until then it is where it was if they
/// are as they were: a loop may write the same bytes in each turn.
void execution::note_rewrite(const place& lies) {
  repetition& repeats = me().repeats;
  repeats.plain = {};
  repeats.has_written_plain = true;
  repeats.slept.reset();
  if (!is_set_up()) repeats.failed_at = 0;  // a race with the write is looked for to the end
  const bool has_states = !repeats.failures.empty() || !repeats.at_pauses.empty();
  if (has_states && !repeats.rewritten.note(lies.address, lies.size)) act(me());
}

void execution::pause(std::source_location where) {
  thread_record& thread = me();
  if (thread.undisturbed) note_unordered();  // others run in the middle of the section
  if (thread.rushes) {
    if (!has_no_end(thread.repeats.rush, ++thread.repeats.rushed_pauses))
      return thread.reads.clear();
    event(paused, 2, 0);  // ends the rush
    // The loop may pause in several places, so what it reads in between is not all.
    thread.reads.insert(thread.reads.end(), thread.repeats.loop.begin(), thread.repeats.loop.end());
    if (thread.repeats.skipped) thread.reads.push_back(*thread.repeats.skipped);
    thread.now = waits_for_plain_data(thread) ? status::stuck : status::pausing;
    thread.next = {};
    switch_out();
  } else if (!is_set_up()) {
    thread.now = status::pausing;
    thread.notes_state = true;
    thread.yields = true;
    thread.next = {};
    note_loop();
    clear_dead_stack();
    switch_out();
    thread.yields = false;
  }
  const status how = thread.now;
  thread.now = status::ready;
  event(paused, static_cast<std::uint64_t>(how), 0);
  if (account_ != nullptr) tell(where, "pause");
  if (how != status::ready) {
    done_.has_paused = true;
    for (const read_before& each : thread.reads) note_newest(each.where);
  }
  if (how == status::pausing) {
    refresh(thread, where);
  } else if (how == status::counting) {
    reach(cap::counted_pauses);
    rush(where);
  }
  // A loop that pauses in several places has read what it reads in between, too.
  const bool may_be_within = how == status::ready && thread.repeats.at_pauses.size() > 1;
  if (may_be_within) return;
  thread.reads.clear();
  thread.repeats.has_read_plain = false;
}

void execution::note_read(location_index from, message_index which) {
  me().reads.push_back({from, which});
  me().repeats.all_reads.push_back({from, which});
}

bool execution::may_repeat() noexcept {
  return !me().undisturbed && !me().rushes && !is_set_up();
}

void execution::repeat(const turn& last, std::source_location where) {
  thread_record& thread = me();
  const std::span reads = std::span{thread.repeats.all_reads}.subspan(last.reads_before);
  thread.reads.assign(reads.begin(), reads.end());
  // A lock that knows its owner is read as it is taken.
  std::erase_if(thread.reads, [&](const read_before& each) {
    return std::ranges::find(last.locks, each.where) != last.locks.end();
  });
  thread.repeats.may_be_left_out = last.may_be_left_out;
  thread.repeats.asks_time = last.asks_time;
  thread.repeats.data.assign(last.data.begin(), last.data.end());
  thread.repeats.locks.assign(last.locks.begin(), last.locks.end());
  thread.repeats.changes_before = changes_of_data_;
  thread.repeats.has_news = last.has_news;
  thread.now = status::repeating;
  thread.yields = true;
  thread.next = {};
  note_loop();
  clear_dead_stack();
  switch_out();
  thread.yields = false;
  thread.now = status::ready;
  event(paused, static_cast<std::uint64_t>(status::repeating), 0);
  if (account_ != nullptr) tell(where, "pause");
  thread.repeats.time_has_passed = last.asks_time && !has_news_of_loop(thread);
  if (!has_changed_data(thread) && !thread.reads.empty()) {
    done_.has_paused = true;
    for (const read_before& each : thread.reads) note_newest(each.where);
    refresh(thread, where);
  }
  thread.reads.clear();
}

/// With reduction a futile turn is the end of the loop, where decision 0081 says so: the execution
/// without the turn, in which its first read is deferred, finds the same faults.
bool execution::leaves_turns_out() const {
  return reduces() && !by_->is_translated() && !takes_turns_from_;
}

/// Whether another turn might do something else than the last one: something that it has read has
/// changed, or the clock shows more than before.
bool execution::has_news_of_loop(const thread_record& of) const {
  const bool sees_time = of.repeats.asks_time && of.repeats.hours != hours_;
  return sees_time || has_changed_data(of) ||
         std::ranges::any_of(of.reads, [this](const read_before& each) {
           return !is_newest(each) || !memory_.at(each.where).is_alive;
         });
}

/// Data that the turn has read, or a lock that it has taken, is no longer the same. A thread that
/// sees that waits for nothing: whatever it could have read before, it may still read.
bool execution::has_changed_data(const thread_record& of) const {
  const auto self = static_cast<thread_index>(&of - threads_.data());
  const repetition& last = of.repeats;
  const auto is_another = [&](std::size_t which) {
    const plain_record& data = plains_[which];
    return !data.is_alive || (data.changed.by != self && data.changed.number > last.changes_before);
  };
  const auto has_ended = [&](location_index lock) { return !memory_.at(lock).is_alive; };
  return last.has_news || std::ranges::any_of(last.data, is_another) ||
         std::ranges::any_of(last.locks, has_ended);
}

/// Chooses the word of which the thread sees something newer: others may stay as they are.
void execution::refresh(thread_record& thread, std::source_location where) {
  auto& reads = thread.reads;
  // The oldest message that was read, for each word.
  std::ranges::sort(reads, [this](const read_before& a, const read_before& b) {
    const auto& order = memory_.at(a.where).position;
    return a.where != b.where ? a.where < b.where : order[a.which] < order[b.which];
  });
  const auto same = std::ranges::unique(reads, {}, &read_before::where);
  reads.erase(same.begin(), same.end());
  std::erase_if(reads, [this](const read_before& each) { return is_newest(each); });
  if (reads.empty()) return;
  forget_old(thread, reads[choose(choice_kind::message, reads.size(), where)]);
}

/// A loop that counts its pauses goes on: either once it sees something newer, or to its end, and
/// sees nothing newer until then.
void execution::rush(std::source_location where) {
  thread_record& thread = me();
  const bool may_refresh = pause_is_over(thread) && !thread.reads.empty();
  if (may_refresh && choose(choice_kind::time, 2, where) == 0) return refresh(thread, where);
  hash128 state = state_of_stack(thread);
  for (const read_before& each : thread.reads) {
    state.mix(memory_.at(each.where).name);
    state.mix(memory_.at(each.where).messages[each.which].value);
  }
  thread.repeats.rush = begin_long_run(state.low);
  thread.rushes = true;
  thread.repeats.rushed_pauses = 0;
  thread.repeats.rushed_loads = 0;
  thread.repeats.loop = thread.reads;
  if (account_ != nullptr) tell(where, "keeps pausing, and sees nothing new");
}

long_run execution::begin_long_run(std::uint64_t state) {
  const bool is_endless = is_repeated(endless_.contains(state));
  return {.state = state, .choice = by_->used() - 1, .is_endless = is_endless};
}

bool execution::has_no_end(const long_run& run, std::uint32_t turns) {
  if (turns < (run.is_endless ? turns_of_endless : most_turns)) return false;
  if (!run.is_endless) endless_.insert(run.state);
  if (!run.is_endless && by_->reopen(run.choice)) leave_out();  // the next one finds it endless
  return true;
}

/// In a loop that is run to its end a load sees what it saw before. A word that the loop did not
/// look at ends that, and so does a loop that no longer pauses.
std::optional<std::uint64_t> execution::load_again(location_index from) {
  thread_record& thread = me();
  if (!thread.rushes || ++thread.repeats.rushed_loads > 8 * most_turns) return std::nullopt;
  const auto& loop = thread.repeats.loop;
  const auto last = std::ranges::find(loop.rbegin(), loop.rend(), from, &read_before::where);
  if (last == loop.rend()) return std::nullopt;
  note_read(from, last->which);  // a turn after the rush may have begun within it
  thread.repeats.plain = {};
  return memory_.at(from).messages[last->which].value;
}

/// The same for a compare-exchange that failed because of the value.
std::optional<std::uint64_t> execution::fail_again(location_index on, std::uint64_t expected) {
  const thread_record& thread = me();
  if (!thread.rushes) return std::nullopt;
  const auto& loop = thread.repeats.loop;
  const auto last = std::ranges::find(loop.rbegin(), loop.rend(), on, &read_before::where);
  if (last == loop.rend() || memory_.at(on).messages[last->which].value == expected)
    return std::nullopt;
  return load_again(on);
}

/// Having waited for something new, the thread does not see the old message again.
void execution::forget_old(thread_record& thread, const read_before& read) {
  const location& at = memory_.at(read.where);
  const std::size_t next = at.position[read.which] + std::size_t{1};
  message_index& oldest = thread.known.refreshed[read.where];
  if (next < at.order.size() && at.position[oldest] < next) oldest = at.order[next];
  thread.history.mix(at.name);
  thread.history.mix(at.messages[oldest].by.name());
}

void execution::forget_old(thread_record& thread) {
  for (const read_before& each : thread.reads) forget_old(thread, each);
  thread.reads.clear();
}

bool execution::may_fail_for_no_reason(std::uint64_t site) {
  thread_record& thread = me();
  const auto& failures = thread.repeats.failures;
  const auto is_here = [&](const repetition::failure& each) {
    return each.site == site && each.state == thread.repeats.state;
  };
  // Words have so many messages, so a thread does not learn without end.
  const auto count = std::ranges::count_if(failures, [&](const repetition::failure& each) {
    return each.site == site && each.knowledge == thread.repeats.knowledge;
  });
  const bool is_compared = count != 0 && !thread.undisturbed;
  if (is_compared && is_repeated(std::ranges::any_of(failures, is_here))) return false;
  // What a loop writes in each turn is no reason to search one more failure in a row.
  const auto in_a_row = count + std::ranges::count(thread.repeats.past_failures, site);
  if (static_cast<std::size_t>(in_a_row) < settings_.weak_failures) return true;
  reach(cap::weak_failures);
  return false;
}

void execution::note_failure(std::uint64_t site) {
  repetition& repeats = me().repeats;
  repeats.failed_at = me().events;
  repeats.failures.push_back(
      {.site = site, .code = repeats.code, .state = repeats.state, .knowledge = repeats.knowledge});
}

void execution::end_failures_in_a_row(std::uint64_t site) {
  std::erase(me().repeats.past_failures, site);
}

std::string to_text(const cap_set& reached, const settings& how) {
  std::string text;
  const auto add = [&](cap which, const char* name, unsigned most) {
    if (!reached[static_cast<std::size_t>(which)]) return;
    text += (text.empty() ? "" : ", ") + std::string{name} + " <= " + std::to_string(most);
  };
  add(cap::spurious_wakes, "spurious wakes", how.spurious_wakes);
  add(cap::timeouts, "early time-outs", how.timeouts);
  add(cap::short_spins, "short spins", how.short_spins);
  add(cap::old_reads, "old reads", how.old_reads.value_or(0));
  add(cap::weak_failures, "weak failures in a row", how.weak_failures);
  add(cap::counted_pauses, "separate pauses of a spin", how.counted_pauses);
  add(cap::depth, "steps", how.depth);
  add(cap::writes, "writes of a word", writes_in_every_order);
  const auto say = [&](cap which, const char* words) {
    if (!reached[static_cast<std::size_t>(which)]) return;
    text += (text.empty() ? "" : ", ");
    text += words;
  };
  say(cap::mixed_sizes, "stores to a part of a word change the whole word");
  say(cap::open_numbers, "__VERIFIER_nondet of -1 to 3");
  return text;
}

}  // namespace lockyard::model
