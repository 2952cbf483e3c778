// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which memory remains as it is while threads run. A turn of a loop may be left out although it
// reads more than the word that it waits for (decision 0081) if none of these reads can race with a
// write, or with the end of the memory. No single execution shows that, so the search relies on
// what all have shown so far, and begins anew if one shows the contrary.

#include <model/execution.hpp>

#include <cstdint>
#include <unordered_map>

namespace lockyard::plain {

enum class access_kind : std::uint8_t { plain, atomic };

class lasting_memory {
 public:
  /// Forgets everything: another search begins.
  void forget() { *this = {}; }

  /// The running thread writes to the memory, or ends it, while others run. Reads count as writes
  /// where they are atomic: no plain read is left out then.
  void note_change(std::uintptr_t begin, std::uintptr_t end, access_kind how);
  /// The first function of the running thread has ended, and so its variables.
  void note_first_end();
  /// Whether what the running thread has read there may be left out. The search relies on it.
  [[nodiscard]] bool lasts(std::uintptr_t begin, std::uintptr_t end, access_kind read);

 private:
  using threads = std::uint16_t;  ///< one bit each
  struct unit {
    threads plainly = 0;  ///< threads that may find the memory changed by a plain access
    threads atomically = 0;
    threads relied_plainly = 0;  ///< threads with a turn that was left out
    threads relied_atomically = 0;
  };
  static constexpr std::uintptr_t bytes_each = 8;

  [[nodiscard]] bool stack_lasts(std::uintptr_t at);

  std::unordered_map<std::uint64_t, unit> all_;  ///< by name: a replay has other stacks
  threads early_ = 0;           ///< threads whose first function has ended while others ran
  threads relied_on_late_ = 0;  ///< threads of which the search has expected the contrary
};

lasting_memory& lasting();

}  // namespace lockyard::plain
