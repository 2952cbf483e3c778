// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the engine calls the memory that a module's code uses: which bytes are words, which are
// plain data, and which may not be used any longer. One for each worker of the search.

#include "stacks.hpp"

#include <model/execution.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace lockyard::plain {

using model::execution;
using model::location_index;

/// An atomic access: some bytes of a word, which is as large as the largest access to it.
struct part {
  location_index word;
  unsigned unit;       ///< bytes of the word
  unsigned shift;      ///< of the access, in bytes
  bool was_unwritten;  ///< the memory, when it became a word

  /// Fails if the value, which was read from the word, is one that nothing has written.
  void check_written(std::uint64_t value, std::source_location where) const;
};

class shadow {
 public:
  /// The functions that run.
  stacks functions;

  /// Forgets everything: an execution begins.
  void reset();

  /// The outcomes of some uses depend on more than what happens before them. The search leaves no
  /// order of steps out if there is one (decision 0080): a use of another thread's stack, and a use
  /// of another thread's memory whose allocation does not happen before.
  part word_at(std::uintptr_t at, unsigned size, std::source_location where);
  void read_plain(std::uintptr_t at, std::size_t size, std::source_location where);
  enum class target : std::uint8_t {
    variable,  ///< on the thread's own stack
    data,
    word,  ///< which has become plain data
  };
  target write_plain(std::uintptr_t at, std::size_t size, std::source_location where);

  /// Adds the records of data that the running thread has read, besides words. True if another
  /// thread has changed some of it since, or ended it.
  bool add_data(std::uintptr_t begin, std::uintptr_t end, std::uint64_t changes_before,
                std::vector<std::size_t>& to);

  /// Brings the word's bytes in memory up to date, if the address is in a word: they are as its
  /// last plain use has left them. For a caller that looks at a byte to find out what it has to
  /// read.
  void refresh(std::uintptr_t at);

  /// Ends all objects in memory that is given back; every later use of it is a fault.
  void end(std::uintptr_t begin, std::uintptr_t end, std::source_location where);
  /// Ends all objects of a function that returns; the memory may hold others later.
  void leave(std::uintptr_t frame_end, std::source_location where);
  /// Ends all objects of the running thread's functions, as pthread_exit() does.
  void leave_all(std::source_location where);
  /// Forgets memory that was given out anew, by an allocator that is not seen.
  void forget(std::uintptr_t begin, std::uintptr_t end);
  /// Ends an object of the C library by its own function, such as pthread_mutex_destroy. A plain
  /// write to the memory makes it usable again.
  void retire(std::uintptr_t begin, std::uintptr_t end, std::source_location where);
  /// For a message: who has ended the memory, and where; nothing if it has not ended.
  [[nodiscard]] std::optional<std::string> ended_by(std::uintptr_t at) const;
  [[nodiscard]] bool is_word(std::uintptr_t begin) const;
  [[nodiscard]] bool is_retired(std::uintptr_t at) const;

  /// Words for which accesses of several sizes were found hold for every execution, so a search
  /// that finds one has to begin again.
  static void forget_mixed_sizes() noexcept { units_.clear(); }
  /// Called when an execution has found out something that holds for all of them.
  static void begin_again() noexcept { restart_ = true; }
  [[nodiscard]] static bool has_to_begin_again() noexcept { return restart_; }
  /// The same, asked once for each search.
  static bool begins_again() noexcept { return std::exchange(restart_, false); }

 private:
  struct cell {
    std::size_t size;
    std::size_t which;
    bool is_word;
    bool is_written = false;     ///< plain data by an access that was seen
    bool was_unwritten = false;  ///< a word: its memory, before it became one
  };
  using cells = std::map<std::uintptr_t, cell>;

  void split(std::uintptr_t at);
  cells::iterator first_after(std::uintptr_t at);
  cells::iterator add_bytes(std::uintptr_t begin, std::uintptr_t end, std::source_location where);
  void check_memory(std::uintptr_t begin, std::uintptr_t end, std::source_location where) const;
  void release(std::uintptr_t begin, std::uintptr_t end, std::source_location where);
  void use_again(std::uintptr_t begin, std::uintptr_t end);
  [[noreturn]] static void widen(std::uintptr_t a, std::size_t a_size, std::uintptr_t b,
                                 std::size_t b_size, std::source_location where);
  static part part_of(std::uintptr_t base, const cell& word, std::uintptr_t at);
  static void put(std::uintptr_t begin, const cell& word, std::uint64_t value);
  const cell& adopt(std::uintptr_t base, unsigned unit, std::source_location where);

  using ranges = std::vector<std::pair<std::uintptr_t, std::uintptr_t>>;
  static bool covers(const ranges& all, std::uintptr_t at);

  struct ended_memory {
    std::uintptr_t begin;
    std::uintptr_t end;
    model::thread_index by;
    std::source_location where;

    [[nodiscard]] std::string ended_by() const;
  };

  cells cells_;
  std::vector<ended_memory> ended_;
  ranges retired_;
  static inline std::map<std::uintptr_t, unsigned> units_;
  static inline bool restart_ = false;
};

/// Returns the same name for an object in every execution, as long as the program runs.
std::uint64_t name_of(std::uintptr_t at);

/// The value of a word as the engine stores it, and back. The engine's values have 64 bits, so
/// values of 16 bytes are numbered.
__extension__ using wide = unsigned __int128;
std::uint64_t encode(wide value, unsigned unit);
wide decode(std::uint64_t stored, unsigned unit);
wide raw_value(std::uintptr_t at, std::size_t size);

}  // namespace lockyard::plain
