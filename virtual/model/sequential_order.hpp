// SPDX-License-Identifier: Apache-2.0
#pragma once

// The order S of sequentially consistent operations, C++20 [atomics.order] 3 and 4. S is kept as
// the relation that every S must contain: strongly-happens-before, and coherence between accesses
// and fences. An execution is allowed as long as this relation has no cycle.

#include "hash.hpp"
#include "renaming.hpp"
#include "view.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockyard::model {

using thread_index = std::uint8_t;
using location_index = std::uint16_t;

struct location;
class memory;

/// The place of an access among the accesses to its location: writes before `writes` and reads of
/// messages before `reads`, both in modification order, are coherence-ordered before the access;
/// writes from `writes` on, and reads of these, are coherence-ordered after the access.
struct coherence_point {
  location_index where;
  std::size_t writes;
  std::size_t reads;

  static coherence_point of_read(location_index where, std::size_t place) {
    return {.where = where, .writes = place + 1, .reads = place};
  }
  static coherence_point of_write(location_index where, std::size_t place) {
    return {.where = where, .writes = place, .reads = place};
  }
};

/// An evaluation: its thread, the number of its event, and what happens before.
struct evaluation {
  thread_index thread;
  std::uint16_t event;
  const clock& happened;
};

class sequential_order {
 public:
  void reset() noexcept;

  /// Whether an access of that kind is without influence on S.
  [[nodiscard]] bool is_free(bool sequential) const noexcept {
    return sequential ? operations_.empty() : fences_ == 0;
  }
  [[nodiscard]] bool has_fences() const noexcept { return fences_ != 0; }
  [[nodiscard]] bool has_fence_before(const clock& happened) const noexcept;

  /// Whether S exists if the access takes this place.
  [[nodiscard]] bool allows(const evaluation& by, bool sequential, const coherence_point& at,
                            const location& of);

  /// The access takes this place. `which` is the message that it writes, or else reads.
  void access(const evaluation& by, bool sequential, const coherence_point& at, const location& of,
              message_index which, bool writes);

  /// A fence, which is after everything that it knows of in `locations`.
  void fence(const evaluation& by, const view& known, std::span<const location> locations);

  /// Keeps what a later cycle may need, and mixes it (equal_futures.cpp).
  void keep(renaming& names, const memory& in) const;
  void mix_last(hash128& all, const renaming& names, const clock& of, const clock& happened) const;
  void join_accesses(clock& to, const coherence_point& at, const location& of) const;
  void mix_last_fences(hash128& all, const renaming& names, const clock& of) const;
  void mix_future(hash128& all, const renaming& names, const memory& in) const;

 private:
  using index = std::uint16_t;
  using bits = std::vector<std::uint64_t>;

  struct operation {
    bool is_fence;
    bool writes;           ///< otherwise it reads; of an access
    location_index where;  ///< of an access
    message_index which;
    std::size_t reach;  ///< where a fence's view begins in reach_
  };
  struct numbered {
    std::uint16_t event;
    index which;
  };
  struct of_thread {
    std::vector<numbered> all;
    std::vector<numbered> fences;
  };

  [[nodiscard]] bool may_come_after(const operation& of, const renaming& names,
                                    const memory& in) const;
  void clear_sets();
  void collect(const evaluation& by, bool sequential, const coherence_point& at,
               const location& of);
  void add_fences_known(const clock& happened);
  void add_strongly_before(const evaluation& by);
  void add_lower(const coherence_point& at, const location& of);
  void add_upper(const coherence_point& at, const location& of);
  [[nodiscard]] bool has_cycle() const;
  index append(const evaluation& by, const operation& which);
  void connect(const index* between);

  /// The operations that must come after one.
  [[nodiscard]] std::span<std::uint64_t> later_than(std::size_t which) {
    return std::span{later_}.subspan(which * words_, words_);
  }
  [[nodiscard]] std::span<const std::uint64_t> later_than(std::size_t which) const {
    return std::span{later_}.subspan(which * words_, words_);
  }
  static void set(bits& in, std::size_t which) { in[which / 64] |= std::uint64_t{1} << which % 64; }
  [[nodiscard]] static bool has(std::span<const std::uint64_t> in, std::size_t which) {
    return (in[which / 64] >> which % 64 & 1U) != 0;
  }

  std::vector<operation> operations_;
  bits later_;  ///< later_than() of each operation, one after the other
  std::vector<message_index> reach_;
  std::array<of_thread, max_threads> threads_;
  std::size_t fences_ = 0;
  std::size_t words_ = 1;
  bits before_;  ///< what must come before the access, and before all that comes after it
  bits after_;
};

}  // namespace lockyard::model
