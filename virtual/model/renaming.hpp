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
#include <utility>
#include <vector>

namespace lockyard::model {

/// Mixes small numbers, several at once.
class packed {
 public:
  explicit packed(hash128& to) : to_{to} {}
  packed(const packed&) = delete;
  packed& operator=(const packed&) = delete;
  ~packed() { to_.mix(held_); }
  /// A number below 2^16.
  void mix(std::uint64_t number) noexcept {
    held_ = held_ << 16U | number;
    if (++count_ % 4 == 0) to_.mix(std::exchange(held_, 0));
  }

 private:
  hash128& to_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
};

struct renaming {
  std::size_t threads = 0;
  /// The living words, in the order of their names, and where each has its messages' positions.
  std::vector<std::uint16_t> words;
  std::vector<const message_index*> positions;
  /// Words that have ended, and the accesses that come before a fence which leaves such a message
  /// of the word; made when they are asked for.
  struct ended_word {
    std::uint16_t word;
    std::vector<std::pair<std::uint16_t, clock>> before;
  };
  std::vector<ended_word> ended;
  std::size_t ended_count = 0;
  /// For each thread, the last of its events that all other threads know, except those that have
  /// ended.
  std::array<std::uint16_t, max_threads> known_to_all{};
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
  /// For each thread, where its operations and its fences are in `kept`.
  struct kept_place {
    std::uint16_t event;
    std::uint16_t place;  ///< not_kept if it is not there
  };
  static constexpr std::uint16_t not_kept = 0xffff;
  std::array<std::vector<kept_place>, max_threads> operations;
  std::array<std::vector<kept_place>, max_threads> fences;
  /// For each event of a thread, how many of something there are up to it.
  using counts = std::vector<std::uint16_t>;
  struct counted {
    counts events;
    counts operations;
    counts fences;
  };
  std::array<counted, max_threads> up_to;
  [[nodiscard]] static std::size_t count(const counts& in, std::uint16_t event) {
    return in[std::min<std::size_t>(event, in.size() - 1)];
  }
  /// The place of the last operation up to an event; not_kept if it is before `known`.
  [[nodiscard]] std::uint16_t last_operation(std::size_t thread, std::uint16_t event,
                                             std::uint16_t known) const {
    const std::size_t all = count(up_to[thread].operations, event);
    if (all == 0) return not_kept;
    const kept_place& last = operations[thread][all - 1];
    return last.event < known ? not_kept : last.place;
  }
  [[nodiscard]] std::uint16_t last_fence(std::size_t thread, std::uint16_t event) const {
    const std::size_t all = count(up_to[thread].fences, event);
    return all == 0 ? not_kept : fences[thread][all - 1].place;
  }
  std::vector<std::size_t> deadlines;  ///< in the order in which they are come across

  void clear(std::size_t thread_count) {
    threads = thread_count;
    words.clear();
    positions.clear();
    ended_count = 0;
    kept.clear();
    for (auto& each : operations) each.clear();
    for (auto& each : fences) each.clear();
    deadlines.clear();
    known_to.resize(std::size_t{1} << thread_count);
    for (common& each : known_to) each.is_made = false;
    for (auto& each : events) each.clear();
  }
  void add_ended(std::uint16_t word) {
    if (ended_count == ended.size()) ended.emplace_back();
    ended_word& added = ended[ended_count++];
    added.word = word;
    added.before.clear();
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
    const auto number = [](const auto& each) -> std::uint16_t {
      if constexpr (requires { each.event; }) {
        return each.event;
      } else {
        return each;
      }
    };
    const auto fill = [&](counts& to, const auto& from) {
      to.clear();
      std::uint16_t so_far = 0;
      for (const auto& each : from) {
        to.resize(std::max<std::size_t>(to.size(), number(each)), so_far);
        ++so_far;
      }
      to.push_back(so_far);
    };
    for (std::size_t i = 0; i < threads; ++i) {
      fill(up_to[i].events, events[i]);
      fill(up_to[i].operations, operations[i]);
      fill(up_to[i].fences, fences[i]);
    }
  }

  /// All places below the floor are one.
  [[nodiscard]] std::uint64_t place(std::size_t word, std::size_t place) const {
    return place < floor[word] ? 0 : place - floor[word] + 1;
  }
  /// Events between which no comparison can tell are one.
  [[nodiscard]] std::uint64_t event(std::size_t thread, std::uint16_t number) const {
    return count(up_to[thread].events, number);
  }
  void mix(hash128& to, const clock& of) const {
    packed all{to};
    for (std::size_t i = 0; i < threads; ++i) all.mix(event(i, of.of[i]));
  }
  /// Mixes what goes beyond what is known.
  void mix(hash128& to, const clock& of, const clock& known) const {
    packed all{to};
    for (std::size_t i = 0; i < threads; ++i) {
      all.mix(of.of[i] <= known.of[i] ? 0 : event(i, of.of[i]));
    }
  }
};

}  // namespace lockyard::model
