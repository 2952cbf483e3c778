// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory as C++20 lets threads see it: RC11 without load buffering, as a view machine. Each
// location has its messages (what was ever written) and their modification order, which is not the
// order in which they were written. docs/checking.md says what that covers and what it does not.

#include "hash.hpp"
#include "view.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <vector>

namespace lockyard::model {

using thread_index = std::uint8_t;
using location_index = std::uint8_t;

/// Who wrote: a thread, and which of its events it was.
struct origin {
  thread_index thread;
  std::uint16_t event;

  [[nodiscard]] std::uint64_t name() const noexcept {
    return (std::uint64_t{thread} << 16U) | event;
  }
};

/// The memory that an object lies in, and the object's type by the address of a tag.
struct place {
  const void* address;
  std::size_t size;
  const void* type;
};

struct message {
  std::uint64_t value;
  view released;  ///< what a reader that acquires gets to know
  origin by;
  bool has_successor;  ///< a read-modify-write has taken it: nothing else comes right after it
};

struct location {
  std::uint64_t name;  ///< the same in every execution that created it at the same point
  std::source_location where;
  std::vector<message> messages;
  std::vector<message_index> order;     ///< modification order, oldest first
  std::vector<message_index> position;  ///< of each message in it
  clock accessed;                       ///< who had touched it, for destruction
  origin creator;
  origin ended;  ///< by whom, unless it is alive
  place lies;
  bool is_alive;

  [[nodiscard]] const message& newest() const noexcept { return messages[order.back()]; }
  /// Puts a message at a place of the modification order; gives its index.
  message_index insert(message&& written, std::size_t place);
};

/// What a thread knows, and what fences have prepared.
struct knowledge {
  view current;
  view to_acquire;  ///< of relaxed reads, for the next acquire fence
  view to_release;  ///< as of the last release fence, for relaxed writes
};

constexpr bool acquires(std::memory_order order) noexcept {
  return order == std::memory_order_acquire || order == std::memory_order_consume ||
         order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
constexpr bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

class memory {
 public:
  void reset() noexcept;

  location_index create(std::uint64_t name, std::uint64_t value, origin by, const view& known,
                        std::source_location where, const place& lies);
  [[nodiscard]] location& at(location_index index) noexcept { return locations_[index]; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// The living word that begins there, if any.
  [[nodiscard]] std::optional<location_index> find(const void* address) const noexcept;
  /// The word that began there last, alive or not, if any.
  [[nodiscard]] std::optional<location_index> find_last(const void* address) const noexcept;

  /// The place in modification order of the oldest message that the reader may still read.
  [[nodiscard]] std::size_t oldest_place(location_index of, const view& known) noexcept {
    const location& at = locations_[of];
    return at.position[known.oldest[of]];
  }

  /// The same for what sequentially consistent operations have made known.
  [[nodiscard]] std::size_t sequential_place(location_index of) noexcept {
    return locations_[of].position[sequential_.oldest[of]];
  }

  /// The messages that may be read, newest first, until `visit` returns false.
  template <class Visit>
  void for_each_readable(const knowledge& known, location_index of, bool sequential, Visit visit) {
    const location& from = locations_[of];
    std::size_t oldest = oldest_place(of, known.current);
    if (sequential) oldest = std::max(oldest, sequential_place(of));
    for (std::size_t place = from.order.size(); place-- > oldest;) {
      if (!visit(from.order[place])) return;
    }
  }

  /// Makes the thread know a message that it has read.
  void note_read(knowledge& reader, location_index of, message_index read,
                 std::memory_order order) noexcept;

  /// Writes at a place of the modification order. `continued` is the message that a
  /// read-modify-write read, whose release sequence it continues; else null.
  message_index write(knowledge& writer, location_index of, std::uint64_t value,
                      std::memory_order order, std::size_t place, origin by,
                      const message* continued);

  void fence(knowledge& of, std::memory_order order) noexcept;

  /// A sequentially consistent access knows, before it happens, what earlier ones of its location
  /// knew, and tells the later ones.
  void before_sequential(knowledge& of, location_index where) noexcept;
  void after_sequential(const knowledge& of, location_index where) noexcept;

  void join(view& to, const view& from) noexcept;

  /// What the future of the execution depends on.
  [[nodiscard]] hash128 digest() const noexcept;
  /// The messages that sequentially consistent operations have made known.
  [[nodiscard]] hash128 sequential_digest() const noexcept;

 private:
  [[nodiscard]] bool is_newer(location_index of, message_index a, message_index b) noexcept {
    return locations_[of].position[a] > locations_[of].position[b];
  }

  std::vector<location> locations_ = std::vector<location>(max_locations);
  std::size_t count_ = 0;
  view sequential_;
};

}  // namespace lockyard::model
