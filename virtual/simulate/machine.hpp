// SPDX-License-Identifier: Apache-2.0
#pragma once

// A simulated machine: which processors share what, and what each operation costs.

#include "duration.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lockyard::simulation {

inline constexpr int max_processors = 256;

class processor_set {
 public:
  void add(int processor) noexcept { word(processor) |= bit(processor); }
  [[nodiscard]] bool has(int processor) const noexcept {
    return (words_[static_cast<unsigned>(processor) / 64] & bit(processor)) != 0;
  }
  [[nodiscard]] int count() const noexcept {
    int sum = 0;
    for (const std::uint64_t each : words_) {
      if (each != 0) sum += std::popcount(each);  // a function call, and most words are 0
    }
    return sum;
  }
  [[nodiscard]] bool is_within(const processor_set& other) const noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i] & ~other.words_[i]) != 0) return false;
    }
    return true;
  }
  void add_all(const processor_set& other) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }

 private:
  static std::uint64_t bit(int processor) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(processor) % 64;
  }
  std::uint64_t& word(int processor) noexcept {
    return words_[static_cast<unsigned>(processor) / 64];
  }

  std::array<std::uint64_t, max_processors / 64> words_{};
};

/// How far apart two processors are: what they share at best.
enum class distance : std::uint8_t { none, core, cache, socket, machine };
inline constexpr std::size_t distances = 5;

struct topology {
  int processors = 1;
  int threads_per_core = 1;
  int cores_per_cache = 1;  ///< cores that share a last-level cache
  int cores_per_socket = 1;
  bool siblings_last = false;  ///< the second threads of all cores follow the first ones
  /// The hypervisor reports a halted processor as preempted, so that the kernel, when it wakes a
  /// thread, does not take it for idle (Linux: available_idle_cpu(), vcpu_is_preempted()).
  bool halted_looks_preempted = false;

  [[nodiscard]] int cores() const noexcept { return processors / threads_per_core; }
  [[nodiscard]] int core_of(int processor) const noexcept {
    return siblings_last ? processor % cores() : processor / threads_per_core;
  }
  [[nodiscard]] int cache_of(int processor) const noexcept {
    return core_of(processor) / cores_per_cache;
  }
  [[nodiscard]] int socket_of(int processor) const noexcept {
    return core_of(processor) / cores_per_socket;
  }
  /// Where the n-th of many threads starts on an idle machine: kernels fill the cores first, and
  /// then their second hardware threads.
  [[nodiscard]] int nth_to_fill(int n) const noexcept {
    const int turn = n % processors;
    if (siblings_last) return turn;
    return turn % cores() * threads_per_core + turn / cores();
  }
  /// The other hardware thread of the core. Precondition: threads_per_core is 2.
  [[nodiscard]] int sibling_of(int processor) const noexcept {
    return siblings_last ? (processor + cores()) % processors : processor ^ 1;
  }
};

/// The costs of one machine's operations, in nanoseconds unless the name says otherwise.
/// cost_declarations() says what each means.
struct costs {
  double hop_core_ns = 0, hop_cache_ns = 0, hop_socket_ns = 0, hop_remote_ns = 0;
  double hit_ns = 0, locked_ns = 0, occupancy_ns = 0, invalidate_ns = 0;
  double storm_hops = 0, arbitration_share = 0;
  double pause_ns = 0, clock_read_ns = 0;
  double smt_slowdown = 1, smt_pausing_slowdown = 1;
  double yield_ns = 0, context_switch_ns = 0;
  double futex_wait_ns = 0, futex_wake_none_ns = 0, futex_wake_ns = 0;
  double interrupt_ns = 0, idle_exit_ns = 0, deep_idle_exit_ns = 0, deep_idle_after_ns = 0;
  double tick_ns = 0, tick_cost_ns = 0, spin_limit_ns = 0;
};

struct cost_declaration {
  std::string_view name;
  double costs::*value;
  std::string_view meaning;
};

std::span<const cost_declaration> cost_declarations() noexcept;

/// What stops a processor regardless of the thread that runs there: device interrupts, firmware, a
/// hypervisor. A property of a setting, as the background is.
struct gaps {
  double every_ns = 0;  ///< mean time between two gaps of the whole machine; 0: there are none
  double least_ns = 0, most_ns = 0;  ///< lengths are log-uniform between these
  /// Lengths that were measured, in place of these; with each, the share of gaps up to it.
  struct length {
    double ns, share;
  };
  std::vector<length> measured{};

  /// Returns the length that a share of the gaps does not exceed.
  [[nodiscard]] double length_ns(double share) const noexcept;
};

/// A machine with its costs in picoseconds.
class machine {
 public:
  machine(const topology& shape, const costs& of);

  [[nodiscard]] ps hop(distance far) const noexcept { return hops_[static_cast<std::size_t>(far)]; }
  [[nodiscard]] ps hop(int from, int to) const noexcept { return hop(between(from, to)); }
  [[nodiscard]] distance between(int a, int b) const noexcept {
    return between_[static_cast<std::size_t>(a * shape.processors + b)];
  }
  /// The other hardware thread of the core; without one, the same.
  [[nodiscard]] int sibling_of(int processor) const noexcept {
    return siblings_[static_cast<std::size_t>(processor)];
  }
  /// The mean time in which a line comes from another processor, each with the same probability.
  [[nodiscard]] ps mean_hop() const noexcept { return mean_hop_; }

  topology shape;
  ps hit, locked, occupancy, invalidate, pause, clock_read, yield, context_switch;
  ps futex_wait, futex_wake_none, futex_wake, interrupt, idle_exit, deep_idle_exit, deep_idle_after;
  ps tick, tick_cost, spin_limit;
  double storm_hops, arbitration_share, smt_slowdown, smt_pausing_slowdown;

 private:
  std::array<ps, distances> hops_;
  ps mean_hop_ = 0;
  std::vector<distance> between_;  ///< for each pair of processors
  std::vector<int> siblings_;
};

}  // namespace lockyard::simulation
