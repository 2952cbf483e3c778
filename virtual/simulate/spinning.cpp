// SPDX-License-Identifier: Apache-2.0

// Spinning threads are parked: they keep their processors, and an event exists for one only when a
// look may succeed.

#include "engine.hpp"

#include <algorithm>

namespace lockyard::simulation {

namespace {

constexpr int most_steps = 1'000'000;

}  // namespace

const engine::policy_facts& engine::facts_of(const void* type, policy_facts (*find)()) {
  const auto known = std::ranges::find(facts_, type, &decltype(facts_)::value_type::first);
  if (known != facts_.end()) return known->second;
  return facts_.emplace_back(type, find()).second;
}

void engine::poke(thread& which, ps when) {
  which.poked = true;
  step_at(which.processor, when);
}

/// Advances the thread's policy to its first look from now on, and returns the time of that look.
/// Whole periods of a policy that repeats itself are skipped.
ps engine::next_look(const thread& which) {
  spin_wait& spin = *which.spin;
  ps begin = spin.last_look;
  for (int steps = 0; spin.last_look < now_; ++steps) {
    spin.last_look += spin.step(spin) + machine_.hit;
    if (steps > most_steps) {
      fail("virtual time does not advance in the spin loop of " + name_of(which) +
           ": its steps cost nothing; give pause_ns or hit_ns a value above 0");
    }
    if (!spin.repeats(spin)) continue;
    const ps period = spin.last_look - begin;
    if (period > 0 && spin.last_look < now_) {
      spin.last_look += (now_ - spin.last_look) / period * period;
    }
    begin = spin.last_look;
  }
  return spin.last_look;
}

void engine::count_spinner(thread& which, int change) {
  const spin_wait& spin = *which.spin;
  if (spin.may_yield) yielding_ += change;
  if (!spin.writes) return;
  for (std::size_t i = 0; i < spin.line_count; ++i) spin.lines[i]->stormers += change;
}

/// A spinner whose loop exchanges gets the line, in the order that the storm's chance gives.
void engine::grant(cache_line& line, thread& to) {
  const ps end = std::max(now_, line.busy_until) + hop_from_owner(line, to.processor);
  line.owner = to.processor, line.exclusive = true, line.sharers = {};
  line.sharers.add(to.processor);
  line.busy_until = end;
  counted_.transfers += end - now_;
  to.granted = &line;
  poke(to, end);
}

/// The value of a word has changed: spinners whose condition holds fetch the line at their next
/// look; the others' fetches are traffic.
void engine::changed(cache_line& line) {
  if (line.watchers.empty()) return;
  int failing = 0;
  thread* exchanging = nullptr;
  double nearest = 0;
  fetches_.clear();
  for (thread* const each : line.watchers) {
    if (at(each->processor).current != each || each->doing != activity::parked || each->poked) {
      continue;
    }
    const spin_wait& spin = *each->spin;
    const ps hop = hop_from_owner(line, each->processor);
    if (!spin.holds(spin)) {
      if (spin.writes || (spin.looking_share < 1 && chance_.uniform() >= spin.looking_share)) {
        continue;
      }
      ++failing;
      line.fetching.add(each->processor);
      line.shared_from = std::min(line.shared_from, now_ + hop);
    } else if (spin.writes) {
      const double draw = chance_.uniform() / static_cast<double>(hop + machine_.hit + 1);
      if (draw > nearest) nearest = draw, exchanging = each;
    } else {
      const ps look = std::max(now_, next_look(*each));
      fetches_.emplace_back(each, look + by_chance(hop + machine_.occupancy));
    }
  }
  const ps crowd = failing * machine_.occupancy;
  for (const auto& [each, when] : fetches_) {
    counted_.transfers += when - now_;
    poke(*each, when + (crowd > 0 ? chance_.part_of(crowd) : 0));
  }
  if (failing > 0) line.readers_until = std::max(line.readers_until, now_) + crowd;
  if (exchanging != nullptr) grant(line, *exchanging);
}

bool engine::park(spin_wait& spin, const void* const* words, std::size_t count, ps until) {
  thread& me = *self_;
  spin.last_look = now_, spin.line_count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    cache_line* const line = &line_of(words[i]);
    const auto end = spin.lines.begin() + static_cast<std::ptrdiff_t>(spin.line_count);
    if (std::find(spin.lines.begin(), end, line) != end) continue;
    spin.lines[spin.line_count++] = line;
    line->watchers.push_back(&me);
  }
  me.granted = nullptr, me.poked = false, me.timed_out = false, me.repetitions = 0;
  me.spin = &spin, me.doing = activity::parked;
  ++me.timer;
  ++at(me.processor).generation;
  count_spinner(me, 1);
  if (until < never) push(std::max(until, now_), event_kind::timer, me.id, me.timer);
  if (at(me.processor).must_reschedule) preempt(me.processor);
  switch_out();
  ++me.timer;
  count_spinner(me, -1);
  for (std::size_t i = 0; i < spin.line_count; ++i) std::erase(spin.lines[i]->watchers, &me);
  me.poked = false, me.spin = nullptr;
  return me.timed_out;
}

}  // namespace lockyard::simulation
