// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockyard::simulation {

namespace {

constexpr std::array declarations{
    cost_declaration{"hop_core_ns", &costs::hop_core_ns,
                     "a cache line comes from the other hardware thread of the core"},
    cost_declaration{"hop_cache_ns", &costs::hop_cache_ns,
                     "a line comes from another core that shares the last-level cache"},
    cost_declaration{"hop_socket_ns", &costs::hop_socket_ns,
                     "a line comes from another last-level cache of the socket"},
    cost_declaration{"hop_remote_ns", &costs::hop_remote_ns, "a line comes from another socket"},
    cost_declaration{"hit_ns", &costs::hit_ns, "a load or store that finds its line here"},
    cost_declaration{"locked_ns", &costs::locked_ns,
                     "a read-modify-write that finds its line here, exclusively"},
    cost_declaration{"occupancy_ns", &costs::occupancy_ns,
                     "the time for which one reader's fetch keeps the line from the next reader"},
    cost_declaration{"invalidate_ns", &costs::invalidate_ns,
                     "a write, for each further processor that shares the line"},
    cost_declaration{"storm_hops", &costs::storm_hops,
                     "mean number of hops by which each thread in an exchange loop delays other "
                     "accesses of the line (a factor): 1 if requests are served in order, 0 if "
                     "an owner keeps the line for long"},
    cost_declaration{"arbitration_share", &costs::arbitration_share,
                     "how much longer a hop may take by chance (a factor)"},
    cost_declaration{"pause_ns", &costs::pause_ns, "one pause instruction"},
    cost_declaration{"clock_read_ns", &costs::clock_read_ns, "one read of the clock"},
    cost_declaration{"smt_slowdown", &costs::smt_slowdown,
                     "work takes so many times as long while the core's other thread works"},
    cost_declaration{"smt_pausing_slowdown", &costs::smt_pausing_slowdown,
                     "the same while the other thread pauses in a spin loop"},
    cost_declaration{"yield_ns", &costs::yield_ns, "a yield without another ready thread"},
    cost_declaration{"context_switch_ns", &costs::context_switch_ns,
                     "from one thread to another on one processor"},
    cost_declaration{"futex_wait_ns", &costs::futex_wait_ns,
                     "from the call until the kernel compares the word"},
    cost_declaration{"futex_wake_none_ns", &costs::futex_wake_none_ns,
                     "a wake call that finds no sleeper"},
    cost_declaration{"futex_wake_ns", &costs::futex_wake_ns, "the waker's part of one wake-up"},
    cost_declaration{"interrupt_ns", &costs::interrupt_ns,
                     "from the wake-up until the other processor looks at its queue"},
    cost_declaration{"idle_exit_ns", &costs::idle_exit_ns, "the exit from a light idle state"},
    cost_declaration{"deep_idle_exit_ns", &costs::deep_idle_exit_ns,
                     "the exit from the deepest idle state"},
    cost_declaration{"deep_idle_after_ns", &costs::deep_idle_after_ns,
                     "idle for longer, a processor enters the deepest idle state"},
    cost_declaration{"tick_ns", &costs::tick_ns, "between two timer ticks of a processor"},
    cost_declaration{"tick_cost_ns", &costs::tick_cost_ns, "one timer tick"},
    cost_declaration{"spin_limit_ns", &costs::spin_limit_ns,
                     "how long locks spin before they sleep"},
};

distance distance_in(const topology& of, int a, int b) noexcept {
  if (a == b) return distance::none;
  if (of.core_of(a) == of.core_of(b)) return distance::core;
  if (of.cache_of(a) == of.cache_of(b)) return distance::cache;
  return of.socket_of(a) == of.socket_of(b) ? distance::socket : distance::machine;
}

}  // namespace

std::span<const cost_declaration> cost_declarations() noexcept {
  return declarations;
}

double gaps::length_ns(double share) const noexcept {
  if (measured.empty()) return least_ns * std::pow(most_ns / least_ns, share);
  const auto found = std::ranges::lower_bound(measured, share, {}, &length::share);
  return found == measured.end() ? measured.back().ns : found->ns;
}

machine::machine(const topology& of, const costs& cost)
    : shape{of},
      hit{to_ps(cost.hit_ns)},
      locked{to_ps(cost.locked_ns)},
      occupancy{to_ps(cost.occupancy_ns)},
      invalidate{to_ps(cost.invalidate_ns)},
      pause{to_ps(cost.pause_ns)},
      clock_read{to_ps(cost.clock_read_ns)},
      yield{to_ps(cost.yield_ns)},
      context_switch{to_ps(cost.context_switch_ns)},
      futex_wait{to_ps(cost.futex_wait_ns)},
      futex_wake_none{to_ps(cost.futex_wake_none_ns)},
      futex_wake{to_ps(cost.futex_wake_ns)},
      interrupt{to_ps(cost.interrupt_ns)},
      idle_exit{to_ps(cost.idle_exit_ns)},
      deep_idle_exit{to_ps(cost.deep_idle_exit_ns)},
      deep_idle_after{to_ps(cost.deep_idle_after_ns)},
      tick{to_ps(cost.tick_ns)},
      tick_cost{to_ps(cost.tick_cost_ns)},
      spin_limit{to_ps(cost.spin_limit_ns)},
      storm_hops{cost.storm_hops},
      arbitration_share{cost.arbitration_share},
      smt_slowdown{cost.smt_slowdown},
      smt_pausing_slowdown{cost.smt_pausing_slowdown},
      hops_{0, to_ps(cost.hop_core_ns), to_ps(cost.hop_cache_ns), to_ps(cost.hop_socket_ns),
            to_ps(cost.hop_remote_ns)} {
  for (int a = 0; a < shape.processors; ++a) {
    siblings_.push_back(shape.threads_per_core == 2 ? shape.sibling_of(a) : a);
    for (int b = 0; b < shape.processors; ++b) between_.push_back(distance_in(shape, a, b));
  }
  for (int other = 1; other < shape.processors; ++other) mean_hop_ += hop(0, other);
  if (shape.processors > 1) mean_hop_ /= shape.processors - 1;
}

}  // namespace lockyard::simulation
