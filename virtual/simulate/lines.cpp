// SPDX-License-Identifier: Apache-2.0

// Cache lines: where they are, and how long a processor waits for one.

#include "engine.hpp"

#include <algorithm>

namespace lockyard::simulation {

cache_line& engine::line_of(const void* address) {
  const auto key = reinterpret_cast<std::uintptr_t>(address) >> 6U;
  auto& [known, line] = recent_lines_[(key ^ key >> 8U) % recent_lines_.size()];
  if (known != key || line == nullptr) known = key, line = &lines_[key];
  return *line;
}

/// A fetch takes effect when it arrives; until then the owner keeps the line undisturbed.
void engine::settle(cache_line& line) const {
  if (now_ < line.shared_from) return;
  line.sharers.add_all(line.fetching);
  line.fetching = {}, line.shared_from = never, line.exclusive = false;
}

ps engine::by_chance(ps length) {
  if (machine_.arbitration_share <= 0) return length;
  return length + scaled_by(length, chance_.uniform() * machine_.arbitration_share);
}

/// Threads that keep exchanging take the line away again and again while others want it.
ps engine::storm_on(const cache_line& line) {
  if (line.stormers == 0) return 0;
  return scaled_by(machine_.mean_hop(),
                   2 * chance_.uniform() * machine_.storm_hops * line.stormers);
}

ps engine::hop_from_owner(const cache_line& line, int to) const {
  return line.owner < 0 ? machine_.hop(distance::cache) : machine_.hop(line.owner, to);
}

/// Makes the line exclusive to the processor; returns when it is.
ps engine::take(cache_line& line, int which) {
  settle(line);
  const ps start = std::max({now_, line.busy_until, line.readers_until});
  if (line.exclusive && line.owner == which && line.stormers == 0) {
    counted_.line_queues += start - now_;
    return start + machine_.locked;
  }
  // The farthest of owner and sharers has to answer.
  auto far = line.owner < 0 ? distance::cache : machine_.between(line.owner, which);
  const auto row = static_cast<std::size_t>(which);
  while (far != distance::machine &&
         !line.sharers.is_within(within_[static_cast<std::size_t>(far)][row])) {
    far = static_cast<distance>(static_cast<int>(far) + 1);
  }
  const int others = line.sharers.count() - (line.sharers.has(which) ? 1 : 0);
  const ps cost = by_chance(machine_.hop(far) + machine_.invalidate * std::max(0, others - 1) +
                            storm_on(line)) +
                  machine_.locked;
  line.owner = which, line.exclusive = true, line.sharers = {};
  line.sharers.add(which);
  line.busy_until = start + cost;
  counted_.line_queues += start - now_, counted_.transfers += cost;
  return line.busy_until;
}

void engine::read(const void* address) {
  if (self_ == nullptr) return;
  give_way();
  cache_line& line = line_of(address);
  thread& me = *self_;
  const auto is_on_line = [&line](const pending_store& each) { return each.line == &line; };
  while (std::ranges::any_of(me.stores, is_on_line)) {
    operate(std::max<ps>(me.stores_done - now_, 1));
  }
  const int here = me.processor;
  if (line.sharers.has(here) && now_ >= line.busy_until && line.stormers == 0) {
    return operate(with_sibling(machine_.hit));
  }
  const ps start = std::max(now_, line.busy_until);
  const ps cost = by_chance(hop_from_owner(line, here)) + storm_on(line);
  line.exclusive = line.exclusive && line.owner == here;
  line.sharers.add(here);
  line.readers_until = std::max(line.readers_until, start) + machine_.occupancy;
  counted_.line_queues += start - now_, counted_.transfers += cost;
  operate(start + cost - now_);
}

void engine::drain_stores() {
  if (self_ != nullptr && self_->stores_done > now_) operate(self_->stores_done - now_);
}

void engine::take_exclusively(const void* address) {
  if (self_ == nullptr) return;
  cache_line& line = line_of(address);
  if (self_->granted == &line) {
    self_->granted = nullptr;
    return;
  }
  drain_stores();
  give_way();
  operate(take(line, self_->processor) - now_);
}

void engine::store(void* address, std::uint64_t value, void (*put)(void*, std::uint64_t)) {
  cache_line& line = line_of(address);
  if (self_ == nullptr) {
    put(address, value);
    return changed(line);
  }
  give_way();
  thread& me = *self_;
  settle(line);
  const bool is_here =
      line.exclusive && line.owner == me.processor && line.stormers == 0 && now_ >= line.busy_until;
  if (is_here && me.stores.empty()) {
    operate(with_sibling(machine_.hit));
    put(address, value);
    return changed(line);
  }
  const ps visible = is_here ? now_ : take(line, me.processor);
  me.stores_done = std::max({me.stores_done, now_, visible});
  me.stores.push_back({&line, address, value, put});
  push(me.stores_done, event_kind::drain, me.id);
  operate(with_sibling(machine_.hit));
}

void engine::drain(thread& which) {
  const pending_store oldest = which.stores.front();
  which.stores.erase(which.stores.begin());
  oldest.put(oldest.address, oldest.value);
  changed(*oldest.line);
}

void engine::changed(const void* address) {
  changed(line_of(address));
}

}  // namespace lockyard::simulation
