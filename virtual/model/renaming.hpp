// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names for what an execution has made so far, as far as its future can tell the difference
// (equal_futures.cpp).

#include "hash.hpp"
#include "view.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockyard::model {

struct renaming {
  std::size_t threads = 0;
  /// The living words, in the order of their names.
  std::vector<std::uint16_t> words;
  std::array<std::uint64_t, max_locations> name{};
  /// The place, in modification order, of the oldest message that some thread may still read.
  std::array<std::uint16_t, max_locations> floor{};
  /// For each thread, the numbers of events that some clock may still be compared with.
  std::array<std::vector<std::uint16_t>, max_threads> events;

  /// The knowledge that all threads of a set share, by the set's bits; made when it is asked for.
  /// The oldest message of a word includes whether it was read.
  struct common {
    bool is_made = false;
    std::array<std::uint16_t, max_locations> oldest{};
    clock happened{};
  };
  std::vector<common> known_to;

  /// The operations in S that are kept, thread by thread, with end_of_thread behind each.
  std::vector<std::uint16_t> kept;
  static constexpr std::uint16_t end_of_thread = 0xffff;
  std::vector<std::size_t> deadlines;  ///< in the order in which they are come across

  void clear(std::size_t thread_count) {
    threads = thread_count;
    words.clear();
    kept.clear();
    deadlines.clear();
    known_to.resize(std::size_t{1} << thread_count);
    for (common& each : known_to) each.is_made = false;
    for (auto& each : events) each.clear();
  }
  void add_event(std::size_t thread, std::size_t event) {
    events[thread].push_back(static_cast<std::uint16_t>(event));
  }
  void sort_events() {
    for (auto& each : events) {
      std::ranges::sort(each);
      const auto same = std::ranges::unique(each);
      each.erase(same.begin(), same.end());
    }
  }

  /// All places below the floor are one.
  [[nodiscard]] std::uint64_t place(std::size_t word, std::size_t place) const {
    return place < floor[word] ? 0 : place - floor[word] + 1;
  }
  /// Events between which no comparison can tell are one.
  [[nodiscard]] std::uint64_t event(std::size_t thread, std::uint16_t number) const {
    const auto& all = events[thread];
    return static_cast<std::uint64_t>(std::ranges::upper_bound(all, number) - all.begin());
  }
  void mix(hash128& to, const clock& of) const {
    for (std::size_t i = 0; i < threads; ++i) to.mix(event(i, of.of[i]));
  }
  /// Mixes what goes beyond what is known.
  void mix(hash128& to, const clock& of, const clock& known) const {
    for (std::size_t i = 0; i < threads; ++i) {
      to.mix(of.of[i] <= known.of[i] ? 0 : event(i, of.of[i]));
    }
  }
};

}  // namespace lockyard::model
