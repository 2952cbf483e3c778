// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keys of states: two states with one key have the same future (equal_futures.cpp).

#include "hash.hpp"
#include "memory.hpp"
#include "records.hpp"
#include "renaming.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace lockyard::model {

class execution;

class equal_futures {
 public:
  explicit equal_futures(execution& of);

  /// Returns the key of the state in which the execution is, between two steps; nothing if what is
  /// known does not suffice.
  std::optional<reached_state> key();
  /// Whether all words and all plain data so far lie where addresses are the same in each
  /// execution.
  [[nodiscard]] bool knows_all_memory();
  /// Called where the next execution does not begin with steps of the last one.
  void begin_part() { codes_.clear(); }
  /// Called after each step of a thread.
  void note_step(thread_index which);
  /// Called where a thread has fallen asleep, for the states behind a wake for no reason.
  void note_sleep(thread_record& of);

 private:
  [[nodiscard]] std::uint64_t renamed(std::uint64_t value);
  [[nodiscard]] std::optional<std::uint64_t> name_of_address(std::uint64_t value) const;
  [[nodiscard]] bool is_elsewhere(const place& lies);
  [[nodiscard]] std::uint64_t name_of_deadline(std::size_t which);
  void mix_bytes(hash128& all, const std::byte* from, std::size_t count);
  void mix_rest_of(hash128& all, const void* object, std::size_t size);
  [[nodiscard]] bool is_used_up(cap which) const;
  void mix_what_is_left(hash128& all) const;
  [[nodiscard]] bool name_words();
  [[nodiscard]] bool is_news(thread_index thread, std::uint16_t event) const;
  template <class Visit>
  void for_each_use(const clock& of, Visit visit) const;
  [[nodiscard]] bool is_off_stack_of(thread_index thread, std::uintptr_t address) const;
  template <class Visit>
  void for_each_plain(Visit visit) const;
  template <class Visit>
  void for_each_end(Visit visit) const;
  void collect_events();
  [[nodiscard]] std::uint64_t event_name(thread_index thread, std::uint16_t event) const;
  void mix_uses(hash128& all, const clock& of) const;
  [[nodiscard]] std::size_t live_threads() const;
  using places = std::array<std::uint16_t, max_threads>;
  [[nodiscard]] places oldest_places(location_index word) const;
  [[nodiscard]] std::size_t readers_of(std::size_t place, const places& oldest) const;
  [[nodiscard]] const renaming::common& known_to(std::size_t threads);
  void mix_word(hash128& all, location_index word);
  void mix_plain(hash128& all, const plain_record& data);
  [[nodiscard]] bool is_plainly_on_its_way(const thread_record& of) const;
  void mix_code(hash128& all, const calling_code& of);
  [[nodiscard]] bool is_step_back(const known_code& from, const known_code& to) const;
  void mix_sleep(hash128& all, const thread_record& of);
  void mix_refreshed(hash128& all, const knowledge& of) const;
  void mix_thread(hash128& all, thread_record& of);
  void mix_next(hash128& all, const thread_record& of);
  void mix_reads(hash128& all, const thread_record& of);
  void mix_deferral(hash128& all, const thread_record& of) const;
  void mix_marks(hash128& all, const thread_record& of);

  execution& of_;
  std::vector<known_code> codes_;  ///< after each step, of the execution before this one too
  renaming names_;
  std::vector<read_before> reads_;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> named_parts_;
};

}  // namespace lockyard::model
