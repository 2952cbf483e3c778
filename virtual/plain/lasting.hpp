// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which memory remains as it is while threads run. A turn of a loop may be left out although it
// uses more than the word that it waits for (decision 0081) if none of these uses can race with one
// of another thread, or with the end of the memory. No single execution shows that, so the search
// relies on what all have shown so far, and begins anew if one shows the contrary.

#include "fact_table.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace lockyard::plain {

/// The end of memory counts as a write.
enum class access_kind : std::uint8_t { read, write, atomic };

class lasting_memory {
 public:
  /// Forgets everything: another search begins.
  void forget() { facts_.emplace(); }

  /// The running thread uses the memory while others run.
  void note_use(std::uintptr_t begin, std::uintptr_t end, access_kind how);
  /// The first function of the running thread has ended, and so its variables.
  void note_first_end();
  /// Whether such a use by the running thread may be left out. The search relies on it.
  [[nodiscard]] bool lasts(std::uintptr_t begin, std::uintptr_t end, access_kind how);
  /// Whether the same holds for an atomic use that may be a write.
  [[nodiscard]] bool has_only_words(std::uintptr_t begin, std::uintptr_t end);

 private:
  static constexpr std::uintptr_t bytes_each = 8;

  void ask_for_reads();
  [[nodiscard]] bool stack_lasts(std::uintptr_t at);

  /// By name, as a replay has other stacks: the threads that may meet such a use by another one,
  /// and the threads with such a use in a turn that was left out.
  std::optional<fact_table> facts_{std::in_place};
};

lasting_memory& lasting();

}  // namespace lockyard::plain
