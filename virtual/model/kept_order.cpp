// SPDX-License-Identifier: Apache-2.0

// What views, and the order S, hold of the past for the future of an execution (equal_futures.cpp).
//
// A later operation can close a cycle in S only through operations that may come after it: accesses
// to messages newer than some thread's oldest one, fences that knew such messages, and all that
// must come after these. Other operations can be reached from none that comes later.

#include "memory.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace lockyard::model {

/// The message that a view leaves of a word, and whether it was read.
std::uint16_t memory::oldest_of(const view& of, location_index word, const renaming& names) const {
  const std::uint64_t place = names.place(word, locations_[word].position[of.oldest[word]]);
  return static_cast<std::uint16_t>(place << 1U | (of.has_read[word] ? 1U : 0U));
}

/// Mixes the messages that a view leaves, as far as it goes beyond what is known: nine bits for
/// each word.
void memory::mix_messages(hash128& all, const view& of, const renaming& names,
                          const renaming::common* known) const {
  std::uint64_t several = 0;
  unsigned count = 0;
  for (std::size_t i = 0; i < names.words.size(); ++i) {
    const location_index word = names.words[i];
    const std::uint64_t place = names.place(word, names.positions[i][of.oldest[word]]);
    const auto oldest = static_cast<std::uint16_t>(place << 1U | (of.has_read[word] ? 1U : 0U));
    const bool is_known = known != nullptr && oldest <= known->oldest[word];
    several = several << 9U | (is_known ? 0U : oldest);
    if (++count % 7 == 0) all.mix(std::exchange(several, 0));
  }
  all.mix(several);
}

void memory::mix_view(hash128& all, const view& of, renaming& names,
                      const renaming::common& known) const {
  mix_ended(all, of, names);
  mix_messages(all, of, names, &known);
  names.mix(all, of.happened, known.happened);
}

bool sequential_order::may_come_after(const operation& of, const renaming& names,
                                      const memory& in) const {
  const auto is_above = [&](location_index word, message_index which) {
    return in.at(word).position[which] > names.floor[word];
  };
  if (!of.is_fence) return in.at(of.where).is_alive && is_above(of.where, of.which);
  return std::ranges::any_of(
      names.words, [&](location_index word) { return is_above(word, reach_[of.reach + word]); });
}

void sequential_order::keep(renaming& names, const memory& in) const {
  bits kept(words_, 0);
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    if (!may_come_after(operations_[i], names, in)) continue;
    set(kept, i);
    for (std::size_t word = 0; word < words_; ++word) kept[word] |= later_than(i)[word];
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    for (const numbered& each : threads_[i].all) {
      const bool is_kept = has(kept, each.which);
      const renaming::kept_place at{
          .event = each.event,
          .place = is_kept ? static_cast<std::uint16_t>(names.kept.size()) : renaming::not_kept};
      names.operations[i].push_back(at);
      if (operations_[each.which].is_fence) names.fences[i].push_back(at);
      if (!is_kept) continue;
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
      row = row << 1U | (has(later_than(which), other) ? 1U : 0U);
      if (++column % 64 == 0) all.mix(std::exchange(row, 0));
    }
    all.mix(row);
  }
}

/// Mixes the last operation of each thread that a clock covers, unless it happens before.
void sequential_order::mix_last(hash128& all, const renaming& names, const clock& of,
                                const clock& happened) const {
  packed places{all};
  for (std::size_t i = 0; i < names.threads; ++i) {
    places.mix(names.last_operation(i, of.of[i], happened.of[i]));
  }
}

/// The accesses to the word that a fence with such a view comes after.
void sequential_order::join_accesses(clock& to, const coherence_point& at,
                                     const location& of) const {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    for (const numbered& each : threads_[i].all) {
      const operation& access = operations_[each.which];
      if (access.is_fence || access.where != at.where) continue;
      if (of.position[access.which] >= (access.writes ? at.writes : at.reads)) continue;
      to.of[i] = std::max(to.of[i], each.event);
    }
  }
}

/// The accesses to a word that come before a fence which leaves this message of it.
clock memory::accesses_before(location_index word, std::size_t place, bool has_read) const {
  const location& at = locations_[word];
  const coherence_point point{.where = word, .writes = place + (has_read ? 1 : 0), .reads = place};
  clock before;
  for (std::size_t i = 0; i < point.writes; ++i) {
    const message& each = at.messages[at.order[i]];
    before.join(each.written_at);
    if (i < point.reads) before.join(each.read_at);
  }
  order_.join_accesses(before, point, at);
  return before;
}

/// Mixes the operations that a later fence comes after because of words that have ended.
void memory::mix_ended(hash128& all, const view& of, renaming& names,
                       bool is_joined_with_clock) const {
  if (order_.is_free(true)) return;
  clock before;
  for (renaming::ended_word& each : std::span{names.ended}.first(names.ended_count)) {
    const std::uint16_t place = locations_[each.word].position[of.oldest[each.word]];
    const bool has_read = of.has_read[each.word];
    const auto left = static_cast<std::uint16_t>(place * 2U + (has_read ? 1U : 0U));
    auto known = std::ranges::find(each.before, left, [](const auto& one) { return one.first; });
    if (known == each.before.end()) {
      each.before.emplace_back(left, accesses_before(each.word, place, has_read));
      known = std::prev(each.before.end());
    }
    before.join(known->second);
  }
  order_.mix_last(all, names, before, is_joined_with_clock ? of.happened : clock{});
}

/// Mixes which fences a clock covers: of each thread, the last one counts.
void sequential_order::mix_last_fences(hash128& all, const renaming& names, const clock& of) const {
  packed places{all};
  for (std::size_t i = 0; i < names.threads; ++i) {
    places.mix(names.last_fence(i, of.of[i]));
  }
}

void memory::mix_last_fences(hash128& all, const renaming& names, const clock& of) const {
  order_.mix_last_fences(all, names, of);
}

void memory::keep_order(renaming& names) const {
  order_.keep(names, *this);
}

void memory::mix_orders(hash128& all, renaming& names, const renaming::common& all_know) const {
  all.mix((order_.has_fences() ? 2U : 0U) + (has_asymmetric_ ? 1U : 0U));
  order_.mix_future(all, names, *this);
  if (!has_asymmetric_) return;
  for (std::size_t i = 0; i < names.threads; ++i) {
    mix_messages(all, known_at_fence_[i], names, &all_know);
    mix_ended(all, known_at_fence_[i], names, false);
  }
  mix_messages(all, known_to_heavy_, names, &all_know);
  mix_ended(all, known_to_heavy_, names, false);
}

}  // namespace lockyard::model
