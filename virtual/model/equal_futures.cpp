// SPDX-License-Identifier: Apache-2.0

// States that differ in their past and have the same future. The second one that an exhaustive
// search reaches needs no search of its own.
//
// The key of a state holds what steps after it depend on, and nothing else:
// - of a thread's code, the values that its operations have returned: it does the same whenever it
//   sees the same;
// - of a word, the messages that some thread may still read, with their values. They are counted
//   from the oldest one, the floor. Views that lie below it are equal;
// - of the clocks, how they compare with the events that may still be asked about: uses of plain
//   data that some thread does not know of, beginnings and ends of objects, and operations in S;
// - of the order S, the operations that may still come after a later one, and those that must come
//   after them: any cycle that closes later begins there;
// - the contents of plain data, and of the client's other memory;
// - what the reduction keeps of the past: deferrals, the marks of threads that are still alike, and
//   what tells that a thread comes back to where it was.
//
// So each way on from one state exists from another one with the same key, step by step, and ends
// the same. If the search has been at the one, it has taken or will take each step that leads on
// from there, or has been at a state with the key of the next one; by the number of steps that are
// left, it finds each fault that the other one leads to.
//
// Addresses on the threads' stacks, in the client and in its states differ from worker to worker,
// so they are named by object and offset. Memory beside words and plain data is part of the key
// where it belongs to the client or to its states. Elsewhere, such as in a node on a stack, it must
// not be written by one thread and read by another: docs/checking.md says so.
//
// There is no such key, and the graph of the execution is the key, if
// - the code has no world: memory has any contents;
// - a thread is in a loop that pauses, or repeats a compare-exchange that fails for no reason, or
//   is in the middle of a section: what it compares itself with is not renamed.

#include "execution.hpp"
#include "renaming.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace lockyard::model {

namespace {

/// Lower numbers are no addresses, and higher ones have more than an address in them.
constexpr std::uint64_t least_address = 1U << 16U;
constexpr unsigned bits_of_address = 48;

/// Objects that have addresses of their own, besides the stacks of threads.
constexpr std::uint64_t client_object = max_threads;

std::uint64_t name_of(std::uint64_t object, std::uint64_t offset) {
  hash128 name;
  name.mix(object);
  name.mix(offset);
  return name.low;
}

/// The message that a view leaves of a word, and whether it was read.
std::uint16_t oldest_of(const view& of, location_index word, const renaming& names,
                        const memory& in) {
  const std::uint64_t place = names.place(word, in.at(word).position[of.oldest[word]]);
  return static_cast<std::uint16_t>(place << 1U | (of.has_read[word] ? 1U : 0U));
}

/// Mixes the messages that a view leaves, as far as it goes beyond what is known: nine bits for each
/// word.
void mix_messages(hash128& all, const view& of, const renaming& names, const memory& in,
                  const renaming::common* known = nullptr) {
  std::uint64_t several = 0;
  unsigned count = 0;
  for (const location_index word : names.words) {
    const std::uint16_t oldest = oldest_of(of, word, names, in);
    const bool is_known = known != nullptr && oldest <= known->oldest[word];
    several = several << 9U | (is_known ? 0U : oldest);
    if (++count % 7 == 0) all.mix(std::exchange(several, 0));
  }
  all.mix(several);
}

void mix_view(hash128& all, const view& of, const renaming& names, const memory& in,
              const renaming::common& known) {
  mix_messages(all, of, names, in, &known);
  names.mix(all, of.happened, known.happened);
}

}  // namespace

// The order S

bool sequential_order::may_come_after(const operation& of, const renaming& names,
                                      const memory& in) const {
  const auto is_above = [&](location_index word, message_index which) {
    return in.at(word).position[which] > names.floor[word];
  };
  if (!of.is_fence) return in.at(of.where).is_alive && is_above(of.where, of.which);
  return std::ranges::any_of(names.words, [&](location_index word) {
    return is_above(word, reach_[of.reach + word]);
  });
}

void sequential_order::keep(renaming& names, const memory& in) const {
  bits kept(words_, 0);
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    if (!may_come_after(operations_[i], names, in)) continue;
    set(kept, i);
    for (std::size_t word = 0; word < later_[i].size(); ++word) kept[word] |= later_[i][word];
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    for (const numbered& each : threads_[i].all) {
      if (!has(kept, each.which)) continue;
      names.kept.push_back(each.which);
      // Some comparisons ask for more than the event.
      names.add_event(i, each.event);
      names.add_event(i, each.event + 1U);
    }
    names.kept.push_back(renaming::end_of_thread);
  }
}

void sequential_order::mix_future(hash128& all, const renaming& names, const memory& in) const {
  std::size_t thread = 0;
  for (const std::uint16_t which : names.kept) {
    if (which == renaming::end_of_thread) {
      all.mix(++thread);
      continue;
    }
    const operation& each = operations_[which];
    all.mix((each.is_fence ? 2U : 0U) + (each.writes ? 1U : 0U));
    const auto& all_of = threads_[thread].all;
    const auto numbered_so = std::ranges::find(all_of, which, &numbered::which);
    all.mix(names.event(thread, numbered_so->event));
    if (each.is_fence) {
      for (const location_index word : names.words) {
        const std::size_t place = in.at(word).position[reach_[each.reach + word]];
        all.mix(place - std::min<std::size_t>(place, names.floor[word]));
      }
    } else if (in.at(each.where).is_alive) {
      all.mix(names.name[each.where]);
      all.mix(names.place(each.where, in.at(each.where).position[each.which]));
    }
    std::uint64_t row = 0;
    unsigned column = 0;
    for (const std::uint16_t other : names.kept) {
      if (other == renaming::end_of_thread) continue;
      row = row << 1U | (has(later_[which], other) ? 1U : 0U);
      if (++column % 64 == 0) all.mix(std::exchange(row, 0));
    }
    all.mix(row);
  }
}

/// Mixes which fences a clock covers: of each thread, the last one counts.
void sequential_order::mix_last_fences(hash128& all, const renaming& names,
                                       const clock& of) const {
  for (std::size_t i = 0; i < names.threads; ++i) {
    const auto& fences = threads_[i].fences;
    const auto last = std::find_if(fences.rbegin(), fences.rend(), [&](const numbered& each) {
      return each.event <= of.of[i];
    });
    const auto place =
        last == fences.rend() ? names.kept.end() : std::ranges::find(names.kept, last->which);
    all.mix(static_cast<std::uint64_t>(place - names.kept.begin()));
  }
}

void memory::mix_last_fences(hash128& all, const renaming& names, const clock& of) const {
  order_.mix_last_fences(all, names, of);
}

void memory::keep_order(renaming& names) const {
  order_.keep(names, *this);
}

void memory::mix_orders(hash128& all, const renaming& names,
                        const renaming::common* all_know) const {
  all.mix((order_.has_fences() ? 2U : 0U) + (has_asymmetric_ ? 1U : 0U));
  order_.mix_future(all, names, *this);
  if (!has_asymmetric_) return;
  for (std::size_t i = 0; i < names.threads; ++i) {
    mix_messages(all, known_at_fence_[i], names, *this, all_know);
  }
  mix_messages(all, known_to_heavy_, names, *this);
}

// The execution

/// The sanitizers know of memory that must not be read, and another processor keeps other registers.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool can_look_at_code = true;
#else
constexpr bool can_look_at_code = false;
#endif

bool execution::forgets_past() const noexcept {
  return can_look_at_code && settings_.forgets_past && name_of_memory == nullptr && reduces() &&
         client_memory_.begin != nullptr;
}

void execution::note_code_at_sleep(thread_record& of) {
  if (!forgets_past()) return;
  of.known_at_sleep = of.known;
  of.code_at_sleep = {};
  names_.deadlines.clear();
  mix_code(of.code_at_sleep, of.caller);
}

std::uint64_t execution::renamed(std::uint64_t value) {
  if (value >= first_deadline && value - first_deadline < deadlines_.size()) {
    return name_of_deadline(value);
  }
  if (value == reinterpret_cast<std::uintptr_t>(this)) return 0;  // wherever a call has left it
  if (value < least_address || value >> bits_of_address != 0) return value;
  const auto is_within = [&](const void* begin, std::size_t size) {
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    return value >= from && value - from < size;
  };
  for (thread_index i = 0; i < max_threads; ++i) {
    const auto top = reinterpret_cast<std::uintptr_t>(stacks_[i].top());
    if (value < top && top - value <= fiber_stack::bytes) return name_of(i, top - value);
  }
  if (is_within(client_memory_.begin, client_memory_.size)) {
    return name_of(client_object,
                   value - reinterpret_cast<std::uintptr_t>(client_memory_.begin));
  }
  for (const state_entry& each : states_) {
    if (!is_within(each.object, each.kind->size)) continue;
    return name_of(name_of(reinterpret_cast<std::uintptr_t>(each.kind->type), each.owner),
                   value - reinterpret_cast<std::uintptr_t>(each.object));
  }
  return value;
}

std::uint64_t execution::name_of_deadline(std::size_t which) {
  auto& known = names_.deadlines;
  const auto place = std::ranges::find(known, which) - known.begin();
  if (place == std::ssize(known)) known.push_back(which);
  const end_of_wait& end = end_of(which);
  return first_deadline + static_cast<std::size_t>(place) * 64U +
         static_cast<std::size_t>(end.when) * 4U + (end.waits_only ? 2U : 0U) +
         (end.has_passed ? 1U : 0U);
}

/// Mixes bytes, and what they point to.
void execution::mix_bytes(hash128& all, const std::byte* from, std::size_t count) {
  while (count != 0) {
    const std::size_t part = std::min(count, sizeof(std::uint64_t));
    std::uint64_t value = 0;
    std::memcpy(&value, from, part);
    all.mix(renamed(value));
    from += part;
    count -= part;
  }
}

/// Mixes the memory of an object, but for its words and its plain data.
void execution::mix_rest_of(hash128& all, const void* object, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(object);
  auto& parts = named_parts_;
  parts.clear();
  const auto add = [&](const place& lies) {
    const auto at = reinterpret_cast<std::uintptr_t>(lies.address);
    if (at >= begin && at - begin < size) parts.emplace_back(at, at + lies.size);
  };
  for (std::size_t i = 0; i < memory_.count(); ++i) {
    add(memory_.at(static_cast<location_index>(i)).lies);
  }
  for (const plain_record& each : plains_) add(each.lies);
  std::ranges::sort(parts);
  std::uintptr_t at = begin;
  const auto mix_until = [&](std::uintptr_t end) {
    if (end <= at) return;
    // Up to the next whole word first, as addresses lie in whole words.
    const std::size_t odd = std::min<std::size_t>(end - at, -at % sizeof(std::uint64_t));
    mix_bytes(all, reinterpret_cast<const std::byte*>(at), odd);
    mix_bytes(all, reinterpret_cast<const std::byte*>(at + odd), end - at - odd);
  };
  for (const auto& [from, to] : parts) {
    mix_until(from);
    at = std::max(at, to);
  }
  mix_until(begin + size);
}

void execution::name_words() {
  names_.clear(count_);
  for (location_index i = 0; i < memory_.count(); ++i) {
    const location& at = memory_.at(i);
    if (!at.is_alive) continue;
    names_.words.push_back(i);
    names_.name[i] = renamed(reinterpret_cast<std::uintptr_t>(at.lies.address));
    std::uint16_t floor = at.position[at.order.back()];
    for (const thread_record& each : std::span{threads_}.first(count_)) {
      if (each.now == status::ended) continue;
      floor = std::min<std::uint16_t>(floor, at.position[each.known.current.oldest[i]]);
    }
    names_.floor[i] = floor;
  }
  std::ranges::sort(names_.words, {}, [this](location_index i) { return names_.name[i]; });
}

/// Whether a thread that goes on, other than the one that made the event, does not know of it.
bool execution::is_news(thread_index thread, std::uint16_t event) const {
  if (event == 0 || thread >= count_) return false;
  for (thread_index i = 0; i < count_; ++i) {
    if (i == thread || threads_[i].now == status::ended) continue;
    if (threads_[i].known.current.happened.of[thread] < event) return true;
  }
  return false;
}

template <class Visit>
void execution::for_each_use(const clock& of, Visit visit) const {
  for (thread_index i = 0; i < count_; ++i) {
    if (is_news(i, of.of[i])) visit(i, of.of[i]);
  }
}

/// Whether the thread alone makes objects there: it knows what it has ended itself.
bool execution::is_on_stack_of(thread_index thread, std::uintptr_t address) const {
  const auto top = reinterpret_cast<std::uintptr_t>(stacks_[thread].top());
  return address < top && top - address <= fiber_stack::bytes;
}

/// Visits plain data that may still be used, or in whose memory other objects may be made.
template <class Visit>
void execution::for_each_plain(Visit visit) const {
  for (const plain_record& each : plains_) {
    if (each.is_alive) visit(each);
  }
  for (const occupant& each : occupants_) {
    if (each.is_word || plains_[each.which].is_alive) continue;
    const plain_record& data = plains_[each.which];
    if (!is_on_stack_of(data.writer, each.begin)) visit(data);
  }
}

/// Visits the ends of words in whose memory others may be made.
template <class Visit>
void execution::for_each_end(Visit visit) const {
  for (const occupant& each : occupants_) {
    if (!each.is_word) continue;
    const location& at = memory_.at(static_cast<location_index>(each.which));
    if (at.is_alive || is_on_stack_of(at.ended.thread, each.begin)) continue;
    if (is_news(at.ended.thread, at.ended.event)) visit(each.begin, at.ended);
  }
}

void execution::collect_events() {
  const auto add = [this](thread_index thread, std::uint16_t event) {
    if (is_news(thread, event)) names_.add_event(thread, event);
  };
  for_each_plain([&](const plain_record& each) {
    add(each.writer, each.written);
    for_each_use(each.readers, add);
  });
  for (const location_index word : names_.words) {
    const location& at = memory_.at(word);
    add(at.creator.thread, at.creator.event);
    for_each_use(at.accessed, add);
  }
  for_each_end([&](std::uintptr_t, const origin& end) { add(end.thread, end.event); });
  memory_.keep_order(names_);
  names_.sort_events();
}

std::uint64_t execution::event_name(thread_index thread, std::uint16_t event) const {
  if (!is_news(thread, event)) return 0;
  return names_.event(thread, event) * max_threads + thread + 1U;
}

void execution::mix_uses(hash128& all, const clock& of) const {
  for_each_use(of, [&](thread_index thread, std::uint16_t event) {
    all.mix(event_name(thread, event));
  });
  all.mix(max_threads);
}

std::size_t execution::live_threads() const {
  std::size_t all = 0;
  for (thread_index i = 0; i < count_; ++i) {
    if (threads_[i].now != status::ended) all |= std::size_t{1} << i;
  }
  return all;
}

/// The threads that may still read the message at that place.
std::size_t execution::readers_of(location_index word, std::size_t place) const {
  const location& at = memory_.at(word);
  std::size_t all = 0;
  for (thread_index i = 0; i < count_; ++i) {
    const thread_record& each = threads_[i];
    if (each.now == status::ended) continue;
    if (at.position[each.known.current.oldest[word]] <= place) all |= std::size_t{1} << i;
  }
  return all;
}

/// What all these threads know. What goes no further tells them nothing.
const renaming::common& execution::known_to(std::size_t threads) {
  renaming::common& all = names_.known_to[threads];
  if (std::exchange(all.is_made, true)) return all;
  all.oldest.fill(0xffff);
  all.happened.of.fill(0xffff);
  for (thread_index i = 0; i < count_; ++i) {
    if ((threads >> i & 1U) == 0) continue;
    const view& current = threads_[i].known.current;
    for (const location_index word : names_.words) {
      all.oldest[word] = std::min(all.oldest[word], oldest_of(current, word, names_, memory_));
    }
    for (std::size_t j = 0; j < max_threads; ++j) {
      all.happened.of[j] = std::min(all.happened.of[j], current.happened.of[j]);
    }
  }
  return all;
}

void execution::mix_word(hash128& all, location_index word) {
  const location& at = memory_.at(word);
  all.mix(names_.name[word]);
  all.mix(event_name(at.creator.thread, at.creator.event));
  mix_uses(all, at.accessed);
  const bool has_fences = memory_.has_fences();
  clock written;
  clock read;
  for (std::size_t place = 0; place < at.order.size(); ++place) {
    const message& each = at.messages[at.order[place]];
    if (has_fences) {
      written.join(each.written_at);
      read.join(each.read_at);
    }
    if (place < names_.floor[word]) continue;
    all.mix(renamed(each.value));
    all.mix(each.has_successor ? 1 : 0);
    mix_view(all, each.released, names_, memory_, known_to(readers_of(word, place)));
    if (has_fences) {
      memory_.mix_last_fences(all, names_, written);
      memory_.mix_last_fences(all, names_, read);
    }
  }
  all.mix(at.order.size() - names_.floor[word]);
  for (const thread_index sleeper : sleepers_[word]) all.mix(sleeper + 1U);
}

void execution::mix_plain(hash128& all, const plain_record& data) {
  hash128 of;
  of.mix(renamed(reinterpret_cast<std::uintptr_t>(data.lies.address)));
  of.mix(event_name(data.writer, data.written));
  mix_uses(of, data.readers);
  if (data.is_alive) {
    mix_bytes(of, static_cast<const std::byte*>(data.lies.address), data.value_size);
  }
  of.mix(data.is_alive ? 1 : 0);
  all.add(of);
}

/// Whether what the thread compares itself with, to find out that it comes back to where it was, is
/// no more than this key has.
bool execution::is_plainly_on_its_way(const thread_record& of) const {
  const repetition& repeats = of.repeats;
  const bool may_go_on = of.now == status::ready || of.now == status::awaiting ||
                         of.now == status::sleeping || of.now == status::queued;
  const bool waits = of.rushes || of.undisturbed || of.spins_in_kernel || of.notes_plain_turn ||
                     of.yields || repeats.skipped || repeats.waited_with || repeats.asks_time ||
                     repeats.plain.turns != 0 || !repeats.at_pauses.empty() ||
                     !repeats.failures.empty() || !repeats.past_failures.empty();
  return may_go_on && !waits;
}

void execution::mix_code(hash128& all, const calling_code& of) {
  for (const std::uint64_t each : of.registers) all.mix(renamed(each));
  all.mix(static_cast<std::uint64_t>(of.stack_top - of.stack));
  mix_rest_of(all, of.stack, static_cast<std::size_t>(of.stack_top - of.stack));
}

/// Mixes what a thread that has woken up for no reason had when it fell asleep.
void execution::mix_sleep(hash128& all, const thread_record& of) {
  const knowledge& then = of.known_at_sleep;
  all.mix(of.code_at_sleep);
  all.mix(renamed(reinterpret_cast<std::uintptr_t>(of.repeats.slept->address)));
  for (const view* each : {&then.current, &then.to_acquire, &then.to_release}) {
    mix_messages(all, *each, names_, memory_);
    names_.mix(all, each->happened);
  }
  mix_refreshed(all, then);
}

void execution::mix_refreshed(hash128& all, const knowledge& of) const {
  for (const location_index word : names_.words) {
    all.mix(names_.place(word, memory_.at(word).position[of.refreshed[word]]));
  }
}

void execution::mix_thread(hash128& all, thread_record& of) {
  const auto self = std::size_t{1} << (&of - threads_.data());
  all.mix(static_cast<std::uint64_t>(of.now));
  mix_messages(all, of.known.current, names_, memory_);
  if (of.now == status::ended) return;
  mix_code(all, of.caller);
  names_.mix(all, of.known.current.happened);
  mix_view(all, of.known.to_acquire, names_, memory_, known_to(self));
  mix_view(all, of.known.to_release, names_, memory_, known_to(live_threads() & ~self));
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
    if (conflicts_->counts_what_is_left) all.mix(repeats.slept->turns);
    if (repeats.slept->has_ended_idly) mix_sleep(all, of);
  }
  all.mix(flags);
  all.mix(static_cast<std::uint64_t>(of.sleeps) * 256U + static_cast<std::uint64_t>(of.may_wake_idly));
  mix_reads(all, of);
  mix_deferral(all, of);
}

/// The oldest message of each word of which a pause may have the thread see something newer.
void execution::mix_reads(hash128& all, const thread_record& of) {
  if (!conflicts_->has_loops) return;
  auto& reads = reads_;
  reads.assign(of.reads.begin(), of.reads.end());
  std::ranges::sort(reads, [this](const read_before& a, const read_before& b) {
    const auto& order = memory_.at(a.where).position;
    return a.where != b.where ? a.where < b.where : order[a.which] < order[b.which];
  });
  const auto same = std::ranges::unique(reads, {}, &read_before::where);
  reads.erase(same.begin(), same.end());
  hash128 oldest;
  for (const read_before& each : reads) {
    const location& at = memory_.at(each.where);
    hash128 one;
    one.mix(renamed(reinterpret_cast<std::uintptr_t>(at.lies.address)));
    one.mix(at.is_alive ? 2 + names_.place(each.where, at.position[each.which])
                        : std::uint64_t{is_newest(each)});
    oldest.add(one);
  }
  all.mix(oldest);
}

void execution::mix_deferral(hash128& all, const thread_record& of) const {
  all.mix(of.deferred.is_on ? 1 : 0);
  if (!of.deferred.is_on) return;
  const auto mix_new = [&](std::size_t look, location_index where) {
    const location& at = memory_.at(where);
    if (!at.is_alive) return all.mix(of.deferred.known[look]);
    for (std::size_t place = names_.floor[where]; place < at.order.size(); ++place) {
      all.mix(at.order[place] >= of.deferred.known[look] ? 1 : 0);
    }
  };
  switch (upcoming_of(of)) {
    case upcoming::reads:
    case upcoming::changes: return mix_new(0, of.next.where);
    case upcoming::awaits:
      for (std::size_t look = 0; look < of.looks.size(); ++look) mix_new(look, of.looks[look].where);
      return;
    default: return;
  }
}

/// The marks that may still be compared: those that another thread has not reached.
void execution::mix_marks(hash128& all, const thread_record& of) {
  all.mix(of.tied);
  if (of.tied == 0) return;
  std::size_t compared = of.marks.size();
  for (thread_index i = 0; of.tied >> i != 0; ++i) {
    if ((of.tied >> i & 1U) != 0) compared = std::min(compared, threads_[i].marks.size());
  }
  for (const symmetry_mark& each : std::span{of.marks}.subspan(compared)) {
    const location& at = memory_.at(each.where);
    all.mix(static_cast<std::uint64_t>(each.kind));
    all.mix(renamed(reinterpret_cast<std::uintptr_t>(at.lies.address)));
    all.mix(at.is_alive ? names_.place(each.where, at.position[each.which]) : each.which + 512U);
  }
  all.mix(of.marks.size() - compared);
}

std::optional<hash128> execution::future() {
  if (!forgets_past() || has_opaque_data_ || has_given_up_ || is_short_of_room_) return std::nullopt;
  const auto live = std::span{threads_}.first(count_);
  const bool is_plain = std::ranges::all_of(live, [this](const thread_record& each) {
    return each.now == status::ended || is_plainly_on_its_way(each);
  });
  if (!is_plain) return std::nullopt;
  name_words();
  collect_events();
  hash128 all;
  all.mix(std::uint64_t{1});  // no graph begins so
  for (const location_index word : names_.words) mix_word(all, word);
  hash128 plains;
  for_each_plain([&](const plain_record& each) { mix_plain(plains, each); });
  for_each_end([&](std::uintptr_t begin, const origin& end) {
    hash128 of;
    of.mix(renamed(begin));
    of.mix(event_name(end.thread, end.event));
    plains.add(of);
  });
  all.mix(plains);
  memory_.mix_orders(all, names_, nullptr);
  for (thread_record& each : live) {
    mix_thread(all, each);
    mix_marks(all, each);
  }
  mix_rest_of(all, client_memory_.begin, client_memory_.size);
  hash128 states;
  for (const state_entry& each : states_) {
    if (each.object == nullptr) continue;
    hash128 of;
    of.mix(renamed(reinterpret_cast<std::uintptr_t>(each.object)));
    mix_rest_of(of, each.object, each.kind->size);
    states.add(of);
  }
  all.mix(states);
  all.mix(barriers_lost_ ? 1 : 0);
  if (conflicts_->counts_what_is_left) {
    all.mix(spurious_left_ * 256U + std::min(sleeps_, settings_.spurious_wakes + 1));
    all.mix(short_spins_left_ * 16U + timeouts_left_);
  }
  return all;
}

}  // namespace lockyard::model
