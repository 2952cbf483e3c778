// SPDX-License-Identifier: Apache-2.0
#include "sequential_order.hpp"

#include "memory.hpp"

#include <algorithm>
#include <utility>

namespace lockyard::model {

void sequential_order::reset() noexcept {
  if (operations_.empty()) return;
  operations_.clear();
  later_.clear();
  reach_.clear();
  for (of_thread& each : threads_) {
    each.all.clear();
    each.fences.clear();
  }
  fences_ = 0;
  words_ = 1;
}

bool sequential_order::has_fence_before(const clock& happened) const noexcept {
  for (std::size_t i = 0; i < max_threads && fences_ != 0; ++i) {
    const auto& fences = threads_[i].fences;
    if (!fences.empty() && fences.front().event <= happened.of[i]) return true;
  }
  return false;
}

void sequential_order::clear_sets() {
  // One more than there are, for the operation that may be added.
  if (operations_.size() / 64 + 1 > words_) {
    const std::size_t words = operations_.size() / 64 + 1;
    bits wider(operations_.size() * words, 0);
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      std::ranges::copy(later_than(i), wider.begin() + static_cast<std::ptrdiff_t>(i * words));
    }
    later_ = std::move(wider);
    words_ = words;
  }
  before_.assign(words_, 0);
  after_.assign(words_, 0);
}

bool sequential_order::allows(const evaluation& by, bool sequential, const coherence_point& at,
                              const location& of) {
  if (is_free(sequential)) return true;
  clear_sets();
  add_upper(at, of);
  if (std::ranges::all_of(after_, [](std::uint64_t word) { return word == 0; })) return true;
  collect(by, sequential, at, of);
  return !has_cycle();
}

void sequential_order::access(const evaluation& by, bool sequential, const coherence_point& at,
                              const location& of, message_index which, bool writes) {
  if (!sequential && fences_ == 0) return;
  clear_sets();
  add_upper(at, of);
  collect(by, sequential, at, of);
  if (!sequential) return connect(nullptr);
  const index mine = append(
      by, {.is_fence = false, .writes = writes, .where = at.where, .which = which, .reach = 0});
  connect(&mine);
}

void sequential_order::fence(const evaluation& by, const view& known,
                             std::span<const location> locations) {
  clear_sets();
  add_strongly_before(by);
  const std::size_t reach = reach_.size();
  for (std::size_t i = 0; i < locations.size(); ++i) {
    const std::size_t place = locations[i].position[known.oldest[i]];
    const bool is_read = known.has_read[i];
    add_lower({.where = static_cast<location_index>(i),
               .writes = place + (is_read ? 1 : 0),
               .reads = place},
              locations[i]);
    reach_.push_back(known.oldest[i]);
  }
  // Locations that are made later have no messages that the fence knows.
  reach_.resize(reach + max_locations);
  const index mine =
      append(by, {.is_fence = true, .writes = false, .where = 0, .which = 0, .reach = reach});
  connect(&mine);
}

void sequential_order::collect(const evaluation& by, bool sequential, const coherence_point& at,
                               const location& of) {
  add_fences_known(by.happened);
  if (!sequential) return;
  add_strongly_before(by);
  add_lower(at, of);
}

/// Adds the last fence of each thread that happens before; its earlier fences come before that one.
void sequential_order::add_fences_known(const clock& happened) {
  for (std::size_t i = 0; i < max_threads; ++i) {
    const auto& fences = threads_[i].fences;
    const auto last = std::find_if(fences.rbegin(), fences.rend(), [&](const numbered& each) {
      return each.event <= happened.of[i];
    });
    if (last != fences.rend()) set(before_, last->which);
  }
}

/// A happens before C, and both are more than the ends: something is sequenced after A that happens
/// before something that is sequenced before C. Where A itself synchronizes with C, coherence
/// orders them.
void sequential_order::add_strongly_before(const evaluation& by) {
  for (std::size_t i = 0; i < max_threads; ++i) {
    const auto& all = threads_[i].all;
    const bool is_mine = i == by.thread;
    const auto last = std::find_if(all.rbegin(), all.rend(), [&](const numbered& each) {
      return is_mine || each.event < by.happened.of[i];
    });
    if (last != all.rend()) set(before_, last->which);
  }
}

void sequential_order::add_lower(const coherence_point& at, const location& of) {
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const operation& each = operations_[i];
    if (each.is_fence || each.where != at.where) continue;
    if (of.position[each.which] < (each.writes ? at.writes : at.reads)) set(before_, i);
  }
  if (fences_ == 0) return;
  clock known;
  for (std::size_t place = 0; place < at.writes; ++place) {
    const message& each = of.messages[of.order[place]];
    known.join(each.written_at);
    if (place < at.reads) known.join(each.read_at);
  }
  add_fences_known(known);
}

void sequential_order::add_upper(const coherence_point& at, const location& of) {
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const operation& each = operations_[i];
    if (!each.is_fence && each.where != at.where) continue;
    const message_index which = each.is_fence ? reach_[each.reach + at.where] : each.which;
    if (of.position[which] >= at.writes) set(after_, i);
  }
}

bool sequential_order::has_cycle() const {
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    if (!has(after_, i)) continue;
    if (has(before_, i)) return true;
    for (std::size_t word = 0; word < words_; ++word) {
      if ((later_than(i)[word] & before_[word]) != 0) return true;
    }
  }
  return false;
}

sequential_order::index sequential_order::append(const evaluation& by, const operation& which) {
  const auto mine = static_cast<index>(operations_.size());
  operations_.push_back(which);
  later_.resize(later_.size() + words_, 0);
  of_thread& thread = threads_[by.thread];
  thread.all.push_back({.event = by.event, .which = mine});
  if (which.is_fence) {
    thread.fences.push_back({.event = by.event, .which = mine});
    ++fences_;
  }
  return mine;
}

/// All of before_, then the operation between, if there is one, and then all of after_.
void sequential_order::connect(const index* between) {
  bits end = after_;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    if (!has(after_, i)) continue;
    for (std::size_t word = 0; word < words_; ++word) end[word] |= later_than(i)[word];
  }
  if (between != nullptr) {
    std::ranges::copy(end, later_than(*between).begin());
    set(end, *between);
  }
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    bool comes_before = has(before_, i);
    for (std::size_t word = 0; word < words_ && !comes_before; ++word) {
      comes_before = (later_than(i)[word] & before_[word]) != 0;
    }
    if (!comes_before) continue;
    for (std::size_t word = 0; word < words_; ++word) later_than(i)[word] |= end[word];
  }
}

}  // namespace lockyard::model
