// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory as C++20 lets threads see it: RC11 without load buffering, as a view machine. Each
// location has its messages (all values ever written) and their modification order, which is not
// the order in which they were written. docs/checking.md says what that covers and what it does
// not.

#include "hash.hpp"
#include "renaming.hpp"
#include "sequential_order.hpp"
#include "view.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace lockyard::model {

/// The writer: a thread, and the number of its event.
struct origin {
  thread_index thread;
  std::uint16_t event;

  [[nodiscard]] std::uint64_t name() const noexcept {
    return (std::uint64_t{thread} << 16U) | event;
  }
};

/// The memory of an object, and the object's type by the address of a tag.
struct place {
  const void* address;
  std::size_t size;
  const void* type;
};

struct message {
  std::uint64_t value;
  view released;  ///< what an acquiring reader learns
  origin by;
  bool has_successor;  ///< a read-modify-write has taken it: nothing else comes right after it
  clock written_at{};  ///< what happened before the write, and before all reads; kept where
  clock read_at{};     ///< there are sequentially consistent fences
};

/// The threads that use a word in ways on which operations of others depend, one bit each, as far
/// as the search knows.
struct word_users {
  std::uint64_t word = 0;              ///< a key that is the same in each execution
  std::uint16_t writers = 0;           ///< write it, or try to
  std::uint16_t lookers = 0;           ///< look at its newest message
  std::uint16_t waiters = 0;           ///< wait until it has another value, and are notified
  std::uint16_t sleepers = 0;          ///< sleep on it otherwise, where others wait so
  std::uint16_t single_notifiers = 0;  ///< notify one waiter, or a few
  std::uint16_t turners = 0;           ///< sleep on it in a loop that writes
  std::uint16_t counters = 0;          ///< have to know how many sleep there

  /// Whether a notification may reach one of several waiters, and not another.
  [[nodiscard]] bool may_pass_over() const noexcept {
    return std::popcount(waiters) > 1 && single_notifiers != 0;
  }
};

/// The refusal of a client with more words.
inline std::string no_room_for_words() {
  return "an execution has more than " + std::to_string(max_locations) +
         " atomic objects, those that have ended included, so it was not searched to its end; use "
         "fewer, or a smaller client";
}

struct location {
  std::uint64_t name;  ///< the same in every execution that created it at the same point
  std::source_location where;
  std::vector<message> messages;
  std::vector<message_index> order;     ///< modification order, oldest first
  std::vector<message_index> position;  ///< of each message in that order
  clock accessed;                       ///< which threads have accessed it, for destruction
  clock read_as_plain;                  ///< which threads have read it without an atomic access
  origin creator;
  origin ended;  ///< which event ended it, unless it is alive
  place lies;
  word_users users;
  bool is_alive;
  message_index notified = 0;    ///< the newest message that some notification knew of
  std::uint64_t adopted = 0;     ///< the number of the change that made the word of data
  bool is_written_data = false;  ///< which its creator had written
  bool is_overwritten = false;   ///< its end is a write without an atomic access
  std::uint64_t version = 0;     ///< another one after each change, in all copies

  [[nodiscard]] const message& newest() const noexcept { return messages[order.back()]; }
  /// Puts a message at a place of the modification order; returns its index.
  message_index insert(message&& written, std::size_t place);
};

/// A thread's knowledge, and what fences have prepared.
struct knowledge {
  view current;
  view to_acquire;  ///< from relaxed reads, for the next acquire fence
  view to_release;  ///< as of the last release fence, for relaxed writes
  /// The oldest message of each location that a thread which waited may still read. This binds
  /// the reads of that thread alone: nothing happens before because of it.
  message_of_word refreshed;

  bool operator==(const knowledge&) const = default;
};

/// How a thread is about to access a word.
struct access {
  thread_index thread;
  bool sequential;

  access(thread_index by, std::memory_order order) noexcept
      : thread{by}, sequential{order == std::memory_order_seq_cst && by != setup_thread} {}
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
  /// Becomes the same as another one, but for what lies beyond its words.
  void copy(const memory& from);

  location_index create(std::uint64_t name, std::uint64_t value, origin by, const view& known,
                        std::source_location where, const place& lies);
  [[nodiscard]] const location& at(location_index index) const noexcept {
    return locations_[index];
  }
  /// The same for a caller that changes it, before any other step.
  [[nodiscard]] location& to_change(location_index index) noexcept {
    locations_[index].version = ++versions_;
    return locations_[index];
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Returns the living word that begins there, if any.
  [[nodiscard]] std::optional<location_index> find(const void* address) const noexcept;
  /// Returns the last word that began there, alive or not, if any.
  [[nodiscard]] std::optional<location_index> find_last(const void* address) const noexcept;

  /// The place in modification order of the oldest message that happens-before leaves.
  [[nodiscard]] std::size_t oldest_place(location_index of, const knowledge& known) noexcept {
    const location& at = locations_[of];
    return at.position[known.current.oldest[of]];
  }
  /// The same for a read.
  [[nodiscard]] std::size_t oldest_readable(location_index of, const knowledge& known) noexcept {
    const location& at = locations_[of];
    return std::max(oldest_place(of, known), std::size_t{at.position[known.refreshed[of]]});
  }

  /// The messages that a load may read, newest first, until `visit` returns false.
  template <class Visit>
  void for_each_readable(const knowledge& known, location_index of, access how, Visit visit) {
    for_each(known, of, visit, [&](std::size_t place) {
      return is_allowed(known, how, coherence_point::of_read(of, place));
    });
  }
  /// The same for a read-modify-write.
  template <class Visit>
  void for_each_changeable(const knowledge& known, location_index of, access how, Visit visit) {
    for_each(known, of, visit, [&](std::size_t place) {
      const location& from = locations_[of];
      return !from.messages[from.order[place]].has_successor &&
             is_allowed(known, how, coherence_point::of_write(of, place + 1));
    });
  }
  /// Whether a write may land there.
  [[nodiscard]] bool may_write(const knowledge& known, location_index to, std::size_t place,
                               access how) {
    return is_allowed(known, how, coherence_point::of_write(to, place));
  }

  /// Whether a read of `one` tells the thread nothing that a read of `other` would not, neither now
  /// nor at a later acquire fence.
  [[nodiscard]] bool tells_no_more(const knowledge& reader, location_index of, message_index one,
                                   message_index other, std::memory_order order) const noexcept;
  [[nodiscard]] bool knows_sequential_fence(const knowledge& of) const noexcept {
    return order_.has_fence_before(of.current.happened);
  }

  /// Makes the thread know a message that it has read.
  void read(knowledge& reader, location_index of, message_index read, std::memory_order order,
            origin by);
  /// The read of a read-modify-write, and then its write.
  message_index change(knowledge& writer, location_index of, message_index read,
                       std::uint64_t value, std::memory_order order, origin by);

  /// Writes at a place of the modification order.
  message_index write(knowledge& writer, location_index of, std::uint64_t value,
                      std::memory_order order, std::size_t place, origin by);

  void fence(knowledge& of, std::memory_order order, origin by);
  /// A light and a heavy fence order like two sequentially consistent fences: each has seen all
  /// that the earlier one's thread knew. Two light fences order nothing.
  void light_fence(knowledge& of, thread_index by);
  void heavy_fence(knowledge& of, origin by);

  void join(view& to, const view& from) noexcept;

  /// What the order S, and asymmetric fences, hold of the past (equal_futures.cpp).
  void keep_order(renaming& names) const;
  void mix_last_fences(hash128& all, const renaming& names, const clock& of) const;
  void mix_orders(hash128& all, renaming& names, const renaming::common& all_know) const;
  /// The message that a view leaves of a word, and whether it was read.
  [[nodiscard]] std::uint16_t oldest_of(const view& of, location_index word,
                                        const renaming& names) const;
  /// Mix what a view holds, as far as it goes beyond what is known.
  void mix_messages(hash128& all, const view& of, const renaming& names,
                    const renaming::common* known = nullptr) const;
  void mix_ended(hash128& all, const view& of, renaming& names,
                 bool is_joined_with_clock = true) const;
  void mix_view(hash128& all, const view& of, renaming& names, const renaming::common& known) const;
  [[nodiscard]] bool has_fences() const noexcept { return order_.has_fences(); }

  /// Returns a hash of everything that the future of the execution depends on.
  [[nodiscard]] hash128 digest() const noexcept;

 private:
  template <class Visit, class Filter>
  void for_each(const knowledge& known, location_index of, Visit& visit, Filter is_possible) {
    const location& from = locations_[of];
    const std::size_t oldest = oldest_readable(of, known);
    for (std::size_t place = from.order.size(); place-- > oldest;) {
      if (is_possible(place) && !visit(from.order[place])) return;
    }
  }
  [[nodiscard]] bool is_allowed(const knowledge& known, access how, const coherence_point& at) {
    if (order_.is_free(how.sequential)) return true;
    const evaluation by{.thread = how.thread, .event = 0, .happened = known.current.happened};
    return order_.allows(by, how.sequential, at, locations_[at.where]);
  }
  [[nodiscard]] clock accesses_before(location_index word, std::size_t place, bool has_read) const;
  void note_read(knowledge& reader, location_index of, message_index read,
                 std::memory_order order) noexcept;
  void put(knowledge& writer, location_index of, std::uint64_t value, std::memory_order order,
           std::size_t place, origin by, const view* inherited, const clock& happened);

  /// Makes the messages known, but lets nothing happen before.
  void join_messages(view& to, const view& from) noexcept;

  [[nodiscard]] bool is_newer(location_index of, message_index a, message_index b) noexcept {
    return locations_[of].position[a] > locations_[of].position[b];
  }

  std::vector<location> locations_ = std::vector<location>(max_locations);
  std::size_t count_ = 0;
  std::uint64_t versions_ = 0;
  sequential_order order_;
  std::array<view, max_threads> known_at_fence_{};  ///< at the thread's last asymmetric fence
  view known_to_heavy_{};
  bool has_asymmetric_ = false;
};

}  // namespace lockyard::model
