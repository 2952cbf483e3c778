// SPDX-License-Identifier: Apache-2.0
#pragma once

// A trace of a simulation, in the format of the traces of real programs, so that `lockyard explain`
// reads it. Ticks are picoseconds of virtual time.

#include "duration.hpp"

#include <lockyard/detail/trace_format.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockyard::simulation {

class recording {
 public:
  /// Events of a thread beyond this number replace its oldest ones.
  static constexpr std::size_t most_events = std::size_t{1} << 19U;

  void stamp(int thread, trace::event_kind kind, const void* lock, std::uint64_t argument, int cpu,
             ps at) {
    add(trace::ring_kind::stamps, thread, {ticks(at), address(lock), kind, number(cpu), argument});
  }
  /// The scheduler's part: switches, wake-ups and migrations of a thread.
  void scheduled(int thread, trace::event_kind kind, std::uint64_t argument, int cpu, ps at) {
    add(trace::ring_kind::switches, thread, {ticks(at), 0, kind, number(cpu), argument});
  }
  void gap(int cpu, ps length, ps begin) {
    add(trace::ring_kind::gaps, cpu,
        {ticks(begin), 0, trace::event_kind::gap, number(cpu), ticks(length)});
  }
  void name(const void* lock, std::string_view text) { names_[address(lock)] = text; }
  void name_thread(int thread, std::string_view text) { threads_[thread] = text; }
  static std::uint32_t number_of(int thread) noexcept { return number(thread) + 1; }

  /// Throws std::runtime_error if the file cannot be written.
  void write(const std::string& path, std::string_view title, ps end) const;

 private:
  struct ring_key {
    trace::ring_kind kind;
    int of;
    auto operator<=>(const ring_key&) const = default;
  };

  static std::uint64_t ticks(ps at) noexcept { return static_cast<std::uint64_t>(at); }
  static std::uint32_t number(int of) noexcept { return static_cast<std::uint32_t>(of); }
  static std::uint64_t address(const void* lock) noexcept {
    return reinterpret_cast<std::uintptr_t>(lock);
  }
  void add(trace::ring_kind kind, int of, const trace::event& what);

  std::map<ring_key, std::vector<trace::event>> rings_;
  std::map<ring_key, std::uint64_t> written_;
  std::map<std::uint64_t, std::string> names_;
  std::map<int, std::string> threads_;
};

}  // namespace lockyard::simulation
