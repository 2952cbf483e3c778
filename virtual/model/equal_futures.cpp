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
// So each way on from one state exists from another one with the same key, step by step, and ends
// the same. If the search has been at the one, it has taken or will take each step that leads on
// from there, or has been at a state with the key of the next one; by the number of steps that are
// left, it finds each fault that the other one leads to.
//
// An execution without an end comes back to its states. Each cycle of states has a step back, and
// the search goes on from a known state where an execution reaches it with more steps back than
// each one before. So somewhere in such a cycle it always goes on, until it is too deep (decision
// 0102).
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

std::optional<reached_state> equal_futures::key() {
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
  all.mix(of_.barriers_lost_ ? 1 : 0);
  mix_what_is_left(all);
  return reached_state{.name = all, .steps_back = of_.steps_back_};
}

}  // namespace lockyard::model
