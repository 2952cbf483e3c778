// SPDX-License-Identifier: Apache-2.0
#pragma once

// The properties of a lock in the catalogue.

#include <cstdint>
#include <string_view>

namespace lockyard::inline v0 {

enum class lock_kind : std::uint8_t {
  ours,
  peer,     ///< another library's lock
  variant,  ///< M. Skarupke's spinlock with another part: shows what the part is worth
  control,  ///< not for use: shows the harness's cost and that its checks find faults
  user,     ///< the user's own lock; not in the catalogue
};
enum class lock_family : std::uint8_t { spin, queue, park, none };
enum class waiting : std::uint8_t {
  none,
  spin,   ///< keeps the processor
  yield,  ///< offers the processor to others, and stays runnable
  park,   ///< sleeps
  unknown,
};
enum class fairness : std::uint8_t {
  none,            ///< other threads may barge past a waiter forever
  bounded_bypass,  ///< other threads barge past a waiter a bounded number of times
  fifo,            ///< first come, first served
};

struct lock_traits {
  std::string_view name;
  std::string_view seed_name;  ///< the lock's name in the text that published its figures
  lock_kind kind = lock_kind::ours;
  lock_family family;
  lockyard::waiting waiting;
  lockyard::fairness fairness;
  bool timed = false;       ///< has try_lock_for and try_lock_until
  bool shared = false;      ///< has lock_shared
  bool recursive = false;   ///< the owner may lock again
  bool recovering = false;  ///< a deadlock or a dead owner ends in an error
  bool excludes = true;     ///< provides mutual exclusion
  bool owned = true;        ///< only the thread that holds it may unlock it
  std::string_view origin;
};

/// One line of the catalogue. Lock may be incomplete where only the traits are read.
template <class Lock>
struct catalog_entry {
  using lock_type = Lock;
  lock_traits traits;
};

}  // namespace lockyard::inline v0
