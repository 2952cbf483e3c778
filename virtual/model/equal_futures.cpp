// SPDX-License-Identifier: Apache-2.0

// States that differ in their past and have the same future. The second one that an exhaustive
// search reaches needs no search of its own.
//
// The key of a state holds what steps after it depend on, and nothing else:
// - of a thread's code, what it goes on with (calling_code.cpp);
// - of a word, the messages that some thread may still read, with their values. They are counted
//   from the oldest one, the floor. Views that lie below it are equal, and what a message tells
//   counts as far as some thread that may read it does not know it;
// - of the clocks, how they compare with the events that may still be asked about: uses of plain
//   data that some thread does not know of, beginnings and ends of objects, and operations in S;
// - of the order S, what a later cycle may need (kept_order.cpp);
// - the contents of plain data, and of the memory of the client and of its states;
// - what the reduction keeps of the past: deferrals, the marks of threads that are still alike, and
//   what tells that a thread comes back to where it was.
//
// The key counts how often the code of some thread has come back to where it had been before: so no
// execution comes back to a state, and one without an end goes on until it is too deep.
//
// So each way on from one state exists from another one with the same key, step by step, and ends
// the same. If the search has been at the one, it has taken or will take each step that leads on
// from there, or has been at a state with the key of the next one; by the number of steps that are
// left, it finds each fault that the other one leads to.
//
// The key leaves out how many time-outs, short spins and spurious wakes are left, until some
// execution has used one of them up: then the search begins anew, with that one.
//
// Memory that neither belongs to the client and its states, nor lies on a stack, nor is a word or
// plain data, must not be written by one thread and read by another: docs/checking.md says so.
//
// There is no such key, and the graph of the execution is the key, if
// - the code has no world: memory has any contents;
// - plain data has contents elsewhere;
// - a thread is in a loop that pauses, or repeats a compare-exchange that fails for no reason, or
//   is in the middle of a section: what it compares itself with is not renamed.

#include "equal_futures.hpp"

#include "execution.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace lockyard::model {

equal_futures::equal_futures(execution& of) : of_{of} {}

/// Whether it lies in memory that may belong to another object in another execution.
bool equal_futures::is_elsewhere(const place& lies) {
  const auto address = reinterpret_cast<std::uintptr_t>(lies.address);
  return renamed(address) == address;
}

bool equal_futures::knows_all_memory() {
  for (; of_.words_known_ < of_.memory_.count(); ++of_.words_known_) {
    const auto which = static_cast<location_index>(of_.words_known_);
    if (is_elsewhere(of_.memory_.at(which).lies)) return false;
  }
  for (; of_.plains_known_ < of_.plains_.size(); ++of_.plains_known_) {
    if (is_elsewhere(of_.plains_[of_.plains_known_].lies)) return false;
  }
  return true;
}

/// False if not all memory is known.
bool equal_futures::name_words() {
  if (!knows_all_memory()) return false;
  names_.clear(of_.count_);
  for (location_index i = 0; i < of_.memory_.count(); ++i) {
    const location& at = of_.memory_.at(i);
    if (!at.is_alive) {
      names_.add_ended(i);
      continue;
    }
    names_.words.push_back(i);
    names_.name[i] = renamed(reinterpret_cast<std::uintptr_t>(at.lies.address));
    std::uint16_t floor = at.position[at.order.back()];
    for (const thread_record& each : std::span{of_.threads_}.first(of_.count_)) {
      if (each.now == status::ended) continue;
      floor = std::min<std::uint16_t>(floor, at.position[each.known.current.oldest[i]]);
    }
    names_.floor[i] = floor;
  }
  std::ranges::sort(names_.words, {}, [this](location_index i) { return names_.name[i]; });
  for (const location_index i : names_.words) {
    names_.positions.push_back(of_.memory_.at(i).position.data());
  }
  for (thread_index i = 0; i < of_.count_; ++i) {
    std::uint16_t& known = names_.known_to_all[i] = 0xffff;
    for (thread_index other = 0; other < of_.count_; ++other) {
      const thread_record& each = of_.threads_[other];
      if (other == i || each.now == status::ended) continue;
      known = std::min(known, each.known.current.happened.of[i]);
    }
  }
  return true;
}

/// Whether a thread that goes on, other than the one that made the event, does not know of it.
bool equal_futures::is_news(thread_index thread, std::uint16_t event) const {
  return thread < of_.count_ && event > names_.known_to_all[thread];
}

template <class Visit>
void equal_futures::for_each_use(const clock& of, Visit visit) const {
  for (thread_index i = 0; i < of_.count_; ++i) {
    if (is_news(i, of.of[i])) visit(i, of.of[i]);
  }
}

/// Whether the address lies beyond the end of the thread's stack. The thread alone makes objects
/// there: it knows what it has ended itself.
bool equal_futures::is_off_stack_of(thread_index thread, std::uintptr_t address) const {
  if (thread >= of_.count_) return false;
  const auto spot = of_.stacks_.find(address);
  if (!spot || spot->stack != thread) return false;
  const thread_record& owner = of_.threads_[thread];
  return owner.now == status::ended ||
         address < reinterpret_cast<std::uintptr_t>(owner.caller.stack);
}

/// Visits plain data that may still be used, or in whose memory other objects may be made.
template <class Visit>
void equal_futures::for_each_plain(Visit visit) const {
  for (const plain_record& each : of_.plains_) {
    if (each.is_alive) visit(each);
  }
  for (const occupant& each : of_.occupants_) {
    if (each.is_word || of_.plains_[each.which].is_alive) continue;
    const plain_record& data = of_.plains_[each.which];
    if (!is_off_stack_of(data.writer, each.begin)) visit(data);
  }
}

/// Visits the ends of words in whose memory others may be made.
template <class Visit>
void equal_futures::for_each_end(Visit visit) const {
  for (const occupant& each : of_.occupants_) {
    if (!each.is_word) continue;
    const location& at = of_.memory_.at(static_cast<location_index>(each.which));
    if (at.is_alive || is_off_stack_of(at.ended.thread, each.begin)) continue;
    if (is_news(at.ended.thread, at.ended.event)) visit(each, at.ended);
  }
}

void equal_futures::collect_events() {
  const auto add = [this](thread_index thread, std::uint16_t event) {
    if (is_news(thread, event)) names_.add_event(thread, event);
  };
  for_each_plain([&](const plain_record& each) {
    add(each.writer, each.written);
    for_each_use(each.readers, add);
  });
  for (const location_index word : names_.words) {
    const location& at = of_.memory_.at(word);
    add(at.creator.thread, at.creator.event);
    for_each_use(at.accessed, add);
  }
  for_each_end([&](const occupant& /*ended*/, const origin& end) { add(end.thread, end.event); });
  of_.memory_.keep_order(names_);
  names_.sort_events();
}

std::uint64_t equal_futures::event_name(thread_index thread, std::uint16_t event) const {
  if (!is_news(thread, event)) return 0;
  return names_.event(thread, event) * max_threads + thread + 1U;
}

void equal_futures::mix_uses(hash128& all, const clock& of) const {
  for_each_use(
      of, [&](thread_index thread, std::uint16_t event) { all.mix(event_name(thread, event)); });
  all.mix(max_threads);
}

std::size_t equal_futures::live_threads() const {
  std::size_t all = 0;
  for (thread_index i = 0; i < of_.count_; ++i) {
    if (of_.threads_[i].now != status::ended) all |= std::size_t{1} << i;
  }
  return all;
}

/// For each thread the place of the oldest message that it may still read.
equal_futures::places equal_futures::oldest_places(location_index word) const {
  const location& at = of_.memory_.at(word);
  places oldest;
  for (thread_index i = 0; i < of_.count_; ++i) {
    const thread_record& each = of_.threads_[i];
    oldest[i] =
        each.now == status::ended ? max_messages + 1 : at.position[each.known.current.oldest[word]];
  }
  return oldest;
}

/// The threads that may still read the message at that place.
std::size_t equal_futures::readers_of(std::size_t place, const places& oldest) const {
  std::size_t all = 0;
  for (thread_index i = 0; i < of_.count_; ++i) {
    all |= std::size_t{oldest[i] <= place ? 1U : 0U} << i;
  }
  return all;
}

/// The knowledge that all these threads share: a message that goes no further tells them nothing.
const renaming::common& equal_futures::known_to(std::size_t threads) {
  renaming::common& all = names_.known_to[threads];
  if (std::exchange(all.is_made, true)) return all;
  all.oldest.fill(0xffff);
  all.happened.of.fill(0xffff);
  for (thread_index i = 0; i < of_.count_; ++i) {
    if ((threads >> i & 1U) == 0) continue;
    const view& current = of_.threads_[i].known.current;
    for (const location_index word : names_.words) {
      all.oldest[word] = std::min(all.oldest[word], of_.memory_.oldest_of(current, word, names_));
    }
    for (std::size_t j = 0; j < max_threads; ++j) {
      all.happened.of[j] = std::min(all.happened.of[j], current.happened.of[j]);
    }
  }
  return all;
}

void equal_futures::mix_word(hash128& all, location_index word) {
  const location& at = of_.memory_.at(word);
  all.mix(names_.name[word]);
  all.mix(reinterpret_cast<std::uintptr_t>(at.lies.type));
  all.mix(event_name(at.creator.thread, at.creator.event));
  mix_uses(all, at.accessed);
  const bool has_fences = of_.memory_.has_fences();
  clock written;
  clock read;
  const places oldest = oldest_places(word);
  for (std::size_t place = 0; place < at.order.size(); ++place) {
    const message& each = at.messages[at.order[place]];
    if (has_fences && place == names_.floor[word]) {
      of_.memory_.mix_last_fences(all, names_, written);
      of_.memory_.mix_last_fences(all, names_, read);
    }
    if (has_fences) {
      written.join(each.written_at);
      read.join(each.read_at);
    }
    if (place < names_.floor[word]) continue;
    all.mix(renamed(each.value));
    all.mix(each.has_successor ? 1 : 0);
    of_.memory_.mix_view(all, each.released, names_, known_to(readers_of(place, oldest)));
    if (has_fences) {
      of_.memory_.mix_last_fences(all, names_, written);
      of_.memory_.mix_last_fences(all, names_, read);
    }
  }
  all.mix(at.order.size() - names_.floor[word]);
  for (const thread_index sleeper : of_.sleepers_[word]) all.mix(sleeper + 1U);
}

void equal_futures::mix_plain(hash128& all, const plain_record& data) {
  hash128 of;
  of.mix(renamed(reinterpret_cast<std::uintptr_t>(data.lies.address)));
  of.mix(reinterpret_cast<std::uintptr_t>(data.lies.type));
  of.mix(event_name(data.writer, data.written));
  mix_uses(of, data.readers);
  if (data.is_alive) {
    mix_bytes(of, static_cast<const std::byte*>(data.lies.address), data.value_size);
  }
  of.mix(data.lies.size * 2 + (data.is_alive ? 1 : 0));
  all.add(of);
}

/// Whether what the thread compares itself with, to find out that it comes back to where it was, is
/// no more than this key has.
bool equal_futures::is_plainly_on_its_way(const thread_record& of) const {
  const repetition& repeats = of.repeats;
  const bool may_go_on = of.now == status::ready || of.now == status::awaiting ||
                         of.now == status::sleeping || of.now == status::queued;
  const bool waits = of.rushes || of.undisturbed || of.spins_in_kernel || of.notes_plain_turn ||
                     of.yields || repeats.skipped || repeats.waited_with || repeats.asks_time ||
                     repeats.plain.turns != 0 || !repeats.at_pauses.empty() ||
                     !repeats.failures.empty() || !repeats.past_failures.empty();
  return may_go_on && !waits;
}

/// Mixes what a thread that has woken up for no reason had when it fell asleep.
void equal_futures::mix_sleep(hash128& all, const thread_record& of) {
  const knowledge& then = *of.known_at_sleep;
  all.mix(of.code_at_sleep);
  all.mix(then == of.known ? 1 : 0);  // it compares all that it knows
  all.mix(renamed(reinterpret_cast<std::uintptr_t>(of.repeats.slept->address)));
  for (const view* each : {&then.current, &then.to_acquire, &then.to_release}) {
    of_.memory_.mix_messages(all, *each, names_);
    names_.mix(all, each->happened);
  }
  mix_refreshed(all, then);
}

void equal_futures::mix_refreshed(hash128& all, const knowledge& of) const {
  for (const location_index word : names_.words) {
    all.mix(names_.place(word, of_.memory_.at(word).position[of.refreshed[word]]));
  }
}

void equal_futures::mix_thread(hash128& all, thread_record& of) {
  const auto self = std::size_t{1} << (&of - of_.threads_.data());
  all.mix(static_cast<std::uint64_t>(of.now));
  of_.memory_.mix_messages(all, of.known.current, names_);
  if (of.now == status::ended) return;
  if (!of.code.is_lasting) {
    of.code.hash = {};
    mix_code(of.code.hash, of.caller);
  }
  all.mix(of.code.hash);
  names_.mix(all, of.known.current.happened);
  of_.memory_.mix_ended(all, of.known.current, names_);
  of_.memory_.mix_view(all, of.known.to_acquire, names_, known_to(self));
  of_.memory_.mix_view(all, of.known.to_release, names_, known_to(live_threads() & ~self));
  mix_refreshed(all, of.known);
  std::uint64_t flags = static_cast<std::uint64_t>(of.woken_by);
  const auto add = [&](bool flag) { flags = flags << 1U | (flag ? 1U : 0U); };
  add(of.timed_out);
  add(of.notes_state);
  add(of.exchanges);
  add(of.sleeps_in_time);
  add(of.sleeps_on_what_may_end);
  add(of.has_woken_idly);
  all.mix(of.deadline ? name_of_deadline(*of.deadline) : 0);
  const repetition& repeats = of.repeats;
  add(repeats.time_has_passed);
  add(repeats.slept.has_value());
  if (repeats.slept) {
    add(repeats.slept->is_disturbed);
    add(repeats.slept->has_ended_idly);
    // From the third turn on, wakes are counted (futile_sleeps.cpp).
    if (is_used_up(cap::spurious_wakes)) all.mix(std::min(repeats.slept->turns, 2U));
    if (repeats.slept->has_ended_idly) mix_sleep(all, of);
  }
  all.mix(flags);
  all.mix(static_cast<std::uint64_t>(of.sleeps) * 256U +
          static_cast<std::uint64_t>(of.may_wake_idly));
  mix_next(all, of);
  mix_reads(all, of);
  mix_deferral(all, of);
}

/// The words of the next operation. They follow from what the code does, but for words that have
/// ended.
void equal_futures::mix_next(hash128& all, const thread_record& of) {
  const auto mix_name = [&](location_index word) {
    const location& at = of_.memory_.at(word);
    all.mix(at.is_alive ? names_.name[word] : word);
  };
  all.mix(static_cast<std::uint64_t>(of.next.does));
  if (of.now == status::awaiting) {
    for (const look& each : of.looks) mix_name(each.where);
  } else if (of.now == status::sleeping) {
    mix_name(of.sleeps_on);
  } else if (of.next.does == upcoming::reads || of.next.does == upcoming::changes ||
             of.next.does == upcoming::stores || of.next.does == upcoming::sleeps) {
    mix_name(of.next.where);
  }
  all.mix(renamed(reinterpret_cast<std::uintptr_t>(of.next.address)));
}

/// The words of which a pause, or a deadline that passes last, has the thread see something newer:
/// it may still read the message again that it has read. Where it knows a newer one already, a
/// pause is over.
void equal_futures::mix_reads(hash128& all, const thread_record& of) {
  auto& reads = reads_;
  reads.clear();
  bool has_news = false;
  for (const read_before& each : of.reads) {
    const location& at = of_.memory_.at(each.where);
    const bool is_past =
        at.is_alive ? at.position[each.which] < of_.memory_.oldest_readable(each.where, of.known)
                    : !of_.is_newest(each);
    has_news |= is_past;
    if (!is_past && std::ranges::find(reads, each) == reads.end()) reads.push_back(each);
  }
  hash128 others;
  for (const read_before& each : reads) {
    const location& at = of_.memory_.at(each.where);
    hash128 one;
    one.mix(renamed(reinterpret_cast<std::uintptr_t>(at.lies.address)));
    // A pause takes the oldest one of each word.
    const bool has_older = std::ranges::any_of(of.reads, [&](const read_before& other) {
      return other.where == each.where && at.position[other.which] < at.position[each.which];
    });
    one.mix(has_older ? 1 : 0);
    if (at.is_alive) one.mix(names_.place(each.where, at.position[each.which]));
    others.add(one);
  }
  all.mix(others);
  all.mix((has_news ? 2U : 0U) + (of.reads.empty() ? 0U : 1U));
}

void equal_futures::mix_deferral(hash128& all, const thread_record& of) const {
  all.mix(of.deferred.is_on ? 1 : 0);
  if (!of.deferred.is_on) return;
  const auto mix_new = [&](std::size_t look, location_index where) {
    const location& at = of_.memory_.at(where);
    if (!at.is_alive) return all.mix(of.deferred.known[look]);
    for (std::size_t place = names_.floor[where]; place < at.order.size(); ++place) {
      all.mix(at.order[place] >= of.deferred.known[look] ? 1 : 0);
    }
  };
  switch (of_.upcoming_of(of)) {
    case upcoming::reads:
    case upcoming::changes: return mix_new(0, of.next.where);
    case upcoming::awaits:
      for (std::size_t look = 0; look < of.looks.size(); ++look)
        mix_new(look, of.looks[look].where);
      return;
    default: return;
  }
}

/// The marks that may still be compared: those that another thread has not reached.
void equal_futures::mix_marks(hash128& all, const thread_record& of) {
  all.mix(of.tied);
  if (of.tied == 0) return;
  std::size_t compared = of.marks.size();
  for (thread_index i = 0; of.tied >> i != 0; ++i) {
    if ((of.tied >> i & 1U) != 0) compared = std::min(compared, of_.threads_[i].marks.size());
  }
  for (const symmetry_mark& each : std::span{of.marks}.subspan(compared)) {
    const location& at = of_.memory_.at(each.where);
    all.mix(static_cast<std::uint64_t>(each.kind));
    all.mix(renamed(reinterpret_cast<std::uintptr_t>(at.lies.address)));
    all.mix(at.is_alive ? names_.place(each.where, at.position[each.which]) : each.which + 512U);
  }
  all.mix(of.marks.size() - compared);
}

bool equal_futures::is_used_up(cap which) const {
  return of_.conflicts_->used_up[static_cast<std::size_t>(which)];
}

void equal_futures::mix_what_is_left(hash128& all) const {
  if (is_used_up(cap::spurious_wakes)) {
    all.mix(of_.spurious_left_ * 256U + std::min(of_.sleeps_, of_.settings_.spurious_wakes + 1));
  }
  if (is_used_up(cap::short_spins)) all.mix(of_.short_spins_left_);
  if (is_used_up(cap::timeouts)) all.mix(of_.timeouts_left_);
}

std::optional<hash128> equal_futures::key() {
  if (!of_.forgets_past() || of_.has_opaque_data_ || of_.has_given_up_ || of_.is_short_of_room_)
    return std::nullopt;
  const auto live = std::span{of_.threads_}.first(of_.count_);
  const bool is_plain = std::ranges::all_of(live, [this](const thread_record& each) {
    return each.now == status::ended || is_plainly_on_its_way(each);
  });
  if (!is_plain) return std::nullopt;
  if (!name_words()) return std::nullopt;
  collect_events();
  hash128 all;
  all.mix(std::uint64_t{1});  // no graph begins so
  for (const location_index word : names_.words) mix_word(all, word);
  hash128 plains;
  for_each_plain([&](const plain_record& each) { mix_plain(plains, each); });
  for_each_end([&](const occupant& ended, const origin& end) {
    hash128 of;
    of.mix(renamed(ended.begin));
    of.mix(ended.end - ended.begin);
    of.mix(event_name(end.thread, end.event));
    plains.add(of);
  });
  all.mix(plains);
  of_.memory_.mix_orders(all, names_, known_to(live_threads()));
  for (thread_record& each : live) {
    mix_thread(all, each);
    mix_marks(all, each);
  }
  mix_rest_of(all, of_.client_memory_.begin, of_.client_memory_.size);
  hash128 states;
  for (const room_for_state& each : of_.rooms_) {
    const bool has_ended = each.owner < of_.count_ && of_.threads_[each.owner].now == status::ended;
    if (!each.is_taken || has_ended) continue;
    hash128 of;
    of.mix(renamed(reinterpret_cast<std::uintptr_t>(each.begin)));
    mix_rest_of(of, each.begin, each.kind->size);
    states.add(of);
  }
  all.mix(states);
  all.mix(of_.times_back_);
  all.mix(of_.barriers_lost_ ? 1 : 0);
  mix_what_is_left(all);
  return all;
}

}  // namespace lockyard::model
