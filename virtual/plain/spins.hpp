// SPDX-License-Identifier: Apache-2.0
#pragma once

// Recognises loops that wait. Code with plain std::atomic does not say where it waits, so a thread
// that looks at the same word from the same place again, and has written at most plain data in
// between, counts as a loop that pauses; the engine decides whether the loop has come back to where
// it was: the plain data that it has written are part of that. A read-modify-write that leaves its
// word as it was, and is made again at once, is such a look too. A lock of the C library that is
// taken and given back counts as nothing written, unless plain data was written before.

#include "lasting.hpp"
#include "local_state.hpp"

#include <model/execution.hpp>
#include <model/rewritten.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <source_location>
#include <utility>
#include <vector>

namespace lockyard::plain {

/// Lines of the user's that were taken as loops that wait, as file and number, since they were
/// forgotten; the file's name lives as long as the program.
using waiting_lines = std::set<std::pair<const char*, unsigned>>;
waiting_lines known_spins();
void note_spin(std::source_location where);
void forget_spins();

class spins {
 public:
  void reset();

  /// Called before a look; pauses if it is a repetition. If the caller was noted, it is known
  /// whether the thread has come back to where it was.
  void look(const void* from, std::uintptr_t at, std::source_location where);
  void note_caller(std::uint64_t state) { caller_ = state; }
  /// The look is a compare-exchange of these values. Called between the two.
  void note_operands(std::uint64_t expected, std::uint64_t desired);
  /// Called before the thread takes a lock of the C library. It waits where it has come back to
  /// where it was, and never pauses otherwise.
  void look_at_lock(const void* from, std::uintptr_t at, std::source_location where);
  /// The thread has taken a lock, or given it back. It forgets the looks that it has made in
  /// between: only a whole section can be repeated.
  void enter(model::location_index lock);
  void leave(model::location_index lock);
  /// Pauses where the thread gives way; the next look is the first one of another attempt.
  void pause(std::source_location where);
  /// What else the thread has done: it has used plain data, asked for the time, or been given a
  /// number that the search chose.
  void note_plain_use(std::uintptr_t at, std::size_t size, access_kind how);
  void note_time() { ++done_.times; }
  void note_choice() { ++done_.choices; }
  /// It has changed something of its own that is not on its stack, so the next turn may differ.
  void note_hidden_change() { ++done_.choices; }
  /// The compare-exchange at which the thread has looked last has failed for no reason, so what the
  /// thread does again waits for nothing.
  void excuse();
  /// It was one with this expected value, which it has not changed. Whether another attempt with it
  /// follows, which uses the same memory as the one before.
  void note_failure(const void* expected) { failed_ = expected; }
  bool tries_again(const void* expected) { return std::exchange(failed_, nullptr) == expected; }
  /// Whether that was so since the thread was here last.
  bool is_excused() { return std::exchange(is_excused_, false); }
  /// A fence orders, so an attempt before it is another attempt than one after it.
  void fence() {
    futile_ = {};
    release();
  }
  /// The thread has written something that others may see.
  void act();
  /// The thread is about to write plain data, which others may see once it has acted.
  void rewrite(std::uintptr_t at, std::size_t size);

  struct word_value {
    model::location_index word;
    std::uint64_t value;
  };
  enum class attempt : std::uint8_t {
    make,       ///< as it stands
    await,      ///< once the word has another value
    await_any,  ///< once a word that the turn has read has another value
    skip,       ///< it changes nothing, and the loop counts how often
  };
  /// Called before a read-modify-write.
  attempt next_attempt(const void* from, std::uintptr_t at, std::uint64_t operand);
  /// The read-modify-write has changed nothing.
  void note_futile(const void* from, std::uintptr_t at, std::uint64_t operand,
                   const word_value& found);
  /// Returns the value, which the thread has read from a word.
  std::uint64_t note_read(model::location_index word, std::uint64_t value) {
    if (word == watched_ && has_read_ && read_[word] != value) has_seen_change_ = true;
    has_read_ = has_read_ || word == watched_;
    if (!attempts_.empty()) words_.push_back({word, value});
    return read_[word] = value;
  }
  /// Begins to look whether the thread has to wait for a word.
  void watch(model::location_index word) {
    watched_ = word;
    has_read_ = false;
    has_seen_change_ = false;
  }
  /// Whether the word has changed meanwhile, so that the thread has to look again.
  [[nodiscard]] bool has_seen_change() const noexcept { return has_seen_change_; }
  [[nodiscard]] std::uint64_t last_found() const noexcept { return futile_.found; }
  /// The thread has waited behind a futile read-modify-write, and the word has changed. The search
  /// leaves this out if the thread has used nothing else: without the first attempt it would have
  /// made only the one that follows (decision 0104).
  void end_wait() const;
  /// The words that the thread has read in the futile turn, with their values.
  [[nodiscard]] const std::vector<word_value>& turn() const noexcept { return turn_; }

 private:
  struct deeds {
    unsigned times = 0;
    unsigned choices = 0;

    bool operator==(const deeds&) const = default;
  };
  /// A read-modify-write since the thread has changed something, in a state.
  struct past_attempt {
    const void* from;
    std::uintptr_t at;
    std::uint64_t operand;
    std::uint64_t state;
    std::size_t words;  ///< that the thread had read before, with repetitions
    std::size_t locks;  ///< that it had taken
    deeds before;
  };
  struct futile_change {
    const void* from;
    std::uintptr_t at;
    std::uint64_t operand;
    std::uint64_t found;
    std::uint64_t plain_uses;  ///< before
    std::size_t locks;
    deeds before;
  };
  struct plain_use {
    std::uintptr_t begin;
    std::uintptr_t end;
    access_kind how;
    std::uint64_t changes_before;  ///< changes of data in the whole execution
  };
  /// A look at a word from a place, since the thread has written something: the last one in a
  /// state.
  struct last_look {
    const void* from;
    std::uintptr_t at;
    std::uint64_t state;
    std::size_t reads;  ///< that the thread had made before
    std::size_t plain_uses;
    std::uint64_t bytes;    ///< what the thread had changed
    std::size_t rewritten;  ///< in how many places
    std::size_t locks;      ///< that the thread had taken before
    std::size_t held;       ///< that it held
    deeds before;
    bool has_paused;  ///< since
    /// The thread did not wait here although it had come back from that look.
    bool has_gone_on = false;
    std::size_t reads_of_turn = 0;
    std::size_t plain_uses_of_turn = 0;
    unsigned changes = 0;        ///< futile ones that the thread has made so far
    std::uintptr_t changed = 0;  ///< the word of the last one; 0: a failure for no reason
    word_value found{};          ///< by it
  };
  [[nodiscard]] bool ends_turn(const past_attempt& next);
  [[nodiscard]] bool list_turn(std::size_t begin);
  enum class look_kind : std::uint8_t { at_word, at_lock };
  /// A function of a library that the checker does not know, and that may have a state, may do
  /// something else in the next turn.
  void note_calls();
  void note_pause();
  [[nodiscard]] bool is_compared() const;
  [[nodiscard]] bool waits_for_nothing(const void* from, std::uintptr_t at, look_kind what,
                                       std::source_location where);
  void add(const last_look& next);
  [[nodiscard]] bool add_data(std::size_t since);
  void repeat(const last_look& since, look_kind what, std::source_location where);
  [[nodiscard]] bool goes_on(const last_look& since, look_kind what, std::source_location where);
  [[nodiscard]] std::vector<model::read_before> reads_of_turn(std::size_t begin, std::size_t end,
                                                              const last_look& since) const;
  [[nodiscard]] bool has_repeated_turn(const last_look& since) const;
  [[nodiscard]] bool may_be_left_out(const last_look& since) const;
  [[nodiscard]] bool uses_only_what_lasts(const last_look& since, const void* word) const;
  [[nodiscard]] bool has_used_before(const last_look& then, const plain_use& use) const;
  [[nodiscard]] bool has_read_before(const last_look& then, std::size_t which) const;
  void release();
  void keep_look();
  [[nodiscard]] bool leads_nowhere(const last_look& next) const;
  [[nodiscard]] std::uint64_t changed_bytes() const;

  struct made_so_far {
    std::size_t reads = 0;
    std::size_t plain_uses = 0;
  };

  static constexpr std::size_t most_looks = 64;
  static constexpr std::uint64_t unknown = 0;
  std::vector<last_look> looks_;
  std::vector<last_look> failures_;  ///< for no reason, of compare-exchanges
  deeds done_;
  std::uint32_t calls_ = 0;  ///< so many calls there were of such functions
  std::uint64_t caller_ = unknown;
  std::uint64_t uses_ = 0;  ///< uses of plain data in all
  unsigned changes_ = 0;    ///< futile read-modify-writes in all
  std::vector<plain_use> plain_uses_;
  made_so_far released_;                      ///< before something that may order what others do
  model::rewritten_memory rewritten_;         ///< since the thread acted, as all other states here
  std::vector<model::location_index> taken_;  ///< each lock that the thread has taken
  std::vector<model::location_index> held_;
  std::vector<std::size_t> data_;  ///< the data that the last futile turn has read
  std::array<std::uint64_t, model::max_locations> read_{};
  model::location_index watched_ = 0;
  bool has_read_ = false;
  bool has_seen_change_ = false;
  futile_change futile_{};
  bool comes_back_ = false;  ///< at the last read-modify-write
  std::vector<past_attempt> attempts_;
  std::vector<word_value> words_;  ///< that it has read since the first of these
  std::vector<word_value> turn_;
  std::uint64_t state_ = 0;  ///< at the last read-modify-write
  std::size_t places_ = 0;   ///< that were rewritten then
  unsigned repeated_ = 0;
  model::long_run run_;  ///< counts skipped attempts
  bool is_excused_ = false;
  const void* failed_ = nullptr;
};

}  // namespace lockyard::plain
