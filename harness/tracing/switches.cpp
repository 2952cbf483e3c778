// SPDX-License-Identifier: Apache-2.0
#include "switches.hpp"

#include <algorithm>

namespace lockyard::harness {

void add_migrations(std::vector<trace::event>& events) {
  std::vector<trace::event> moves;
  std::uint32_t left = trace::unknown_cpu;
  for (const trace::event& each : events) {
    if (each.kind == trace::event_kind::switch_out) left = each.cpu;
    if (each.kind != trace::event_kind::switch_in) continue;
    if (left != trace::unknown_cpu && left != each.cpu) {
      moves.push_back({.ticks = each.ticks,
                       .lock = 0,
                       .kind = trace::event_kind::migrated,
                       .cpu = each.cpu,
                       .argument = left});
    }
  }
  events.insert(events.end(), moves.begin(), moves.end());
  std::ranges::stable_sort(events, {}, &trace::event::ticks);
}

std::map<std::uint32_t, thread_history> switches_of(const trace::header& of) {
  std::map<std::uint32_t, thread_history> found;
  const auto add = [](thread_history& to, const trace::event& each) {
    if (each.kind < trace::event_kind::switch_out) return;
    if (each.kind == trace::event_kind::records_lost) to.lost += each.argument;
    to.events.push_back(each);
    to.events.back().lock = 0;
  };
  const auto events = [&of](const trace::ring& from, auto each) {
    const std::uint64_t room = of.ring_events;
    for (std::uint64_t i = from.written - std::min(from.written, room); i < from.written; ++i) {
      each(from.events()[i & (room - 1)]);
    }
  };
  if (of.has_switches == 0) return found;
  const trace::ring& last = *of.ring_at(trace::header::last_switches);
  for (std::uint32_t i = trace::header::last_switches + 1; i < of.rings_taken; ++i) {
    const trace::ring& ring = *of.ring_at(i);
    if (ring.switches == 0) continue;
    thread_history& its = found[ring.tid];
    events(ring, [&](const trace::event& each) { add(its, each); });
    events(last, [&](const trace::event& each) {
      if (each.lock == ring.tid) add(its, each);
    });
    std::ranges::stable_sort(its.events, {}, &trace::event::ticks);
  }
  return found;
}

}  // namespace lockyard::harness
