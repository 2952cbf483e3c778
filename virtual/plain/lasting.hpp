// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which memory remains as it is while threads run. A turn of a loop may be left out although it
// uses more than the word that it waits for (decision 0081) if none of these uses can race with one
// of another thread, or with the end of the memory. No single execution shows that, so the search
// relies on what all have shown so far, and begins anew if one shows the contrary.

#include <model/execution.hpp>

#include <array>
#include <cstdint>
#include <unordered_map>

namespace lockyard::plain {

/// The end of memory counts as a write.
enum class access_kind : std::uint8_t { read, write, atomic };

class lasting_memory {
 public:
  /// Forgets everything: another search begins.
  void forget() { *this = {}; }

  /// The running thread uses the memory while others run.
  void note_use(std::uintptr_t begin, std::uintptr_t end, access_kind how);
  /// The first function of the running thread has ended, and so its variables.
  void note_first_end();
  /// Whether such a use by the running thread may be left out. The search relies on it.
  [[nodiscard]] bool lasts(std::uintptr_t begin, std::uintptr_t end, access_kind how);

 private:
  using threads = std::uint16_t;  ///< one bit each
  using by_kind = std::array<threads, 3>;
  struct unit {
    by_kind used{};    ///< threads that may meet such a use by another one
    by_kind relied{};  ///< threads with such a use in a turn that was left out
  };
  static constexpr std::uintptr_t bytes_each = 8;

  [[nodiscard]] bool stack_lasts(std::uintptr_t at);

  std::unordered_map<std::uint64_t, unit> all_;  ///< by name: a replay has other stacks
  bool notes_reads_ = false;    ///< only writes that are left out conflict with them
  threads early_ = 0;           ///< threads whose first function has ended while others ran
  threads relied_on_late_ = 0;  ///< threads of which the search has expected the contrary
};

lasting_memory& lasting();

}  // namespace lockyard::plain
