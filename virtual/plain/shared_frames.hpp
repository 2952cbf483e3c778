// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which bytes of functions' variables other threads change. Two states of a thread are compared by
// its stack, but without these bytes: they are shared memory, as a static variable is, and others
// may change them at any time. No single execution shows all of them, so the search relies on what
// all have shown so far, and begins anew if one shows more (decision 0103).

#include "fact_table.hpp"

#include <model/execution.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lockyard::plain {

class shared_frames {
 public:
  /// Forgets everything: another search begins.
  void forget() { facts_.emplace(); }

  /// The running thread changes bytes of another one's stack. False if it is not known to which
  /// function they belong.
  bool note_change(model::thread_index owner, std::uintptr_t at, std::size_t size);
  /// Whether another thread changes any of these bytes of the running thread's stack.
  [[nodiscard]] bool are_changed(std::uintptr_t at, std::size_t size) const;
  /// A hash of the end of the running thread's stack, without the bytes that others change.
  [[nodiscard]] model::hash128 hash_of(std::span<const std::byte> stack) const;

 private:
  static constexpr std::uintptr_t bytes_each = 8;
  using bits = fact_table::bits;

  [[nodiscard]] bits known(std::uint64_t key) const { return facts_->known(key).value_or(0); }

  /// Says whether there are such bytes on a stack and in a frame, and which of eight bytes they
  /// are.
  std::optional<fact_table> facts_{std::in_place};
};

shared_frames& frames();

}  // namespace lockyard::plain
