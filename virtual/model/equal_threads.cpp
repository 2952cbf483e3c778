// SPDX-License-Identifier: Apache-2.0

// What the key of a state holds of each thread, besides what its code goes on with
// (calling_code.cpp). equal_futures.cpp says what the key is for.

#include "equal_futures.hpp"
#include "execution.hpp"

#include <algorithm>
#include <span>

namespace lockyard::model {

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

}  // namespace lockyard::model
