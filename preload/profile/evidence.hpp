// SPDX-License-Identifier: Apache-2.0
#pragma once

// Why a wait is long. A waiter looks at the holder when it has waited for a while, at growing
// intervals, and a last time when it has the lock: the kernel says for how long the holder ran and
// was queued, whether it is blocked, and in which system call.

#include "layout.hpp"

namespace lockyard::preload::record {

/// A wait that has lasted this long is looked into.
inline constexpr u64 long_wait_ns = 100'000;

/// The first look; the kernel's timers are some 60 us late.
inline constexpr u64 first_look_ns = long_wait_ns / 2;

u64 monotonic_ns();

class wait_evidence {
 public:
  constexpr wait_evidence(u64 begin_ns, u32 turn)
      : begin_ns_{begin_ns}, since_ns_{begin_ns}, turn_{turn} {}

  u64 begin_ns() const { return begin_ns_; }

  /// Looks at the owner, which has the lock since its acquisition number `turn`.
  void look(u32 owner, u32 turn);

  /// The waiter has the lock; `turn` is the last acquisition before its own.
  void end(u32 turn);

  /// Returns the cause. `late_ns` is how long the lock was free before the waiter had it, and
  /// `others_first` how many acquisitions by other threads there were meanwhile. `mark` is what the
  /// holder saw of its whole hold; it is unknown if there were several holders.
  wait_cause cause(u64 wait_ns, u64 late_ns, u32 others_first,
                   holder_mark mark = holder_mark::unknown) const;

  /// The number of the system call in which the holder was blocked, or -1.
  int system_call() const { return system_call_; }

 private:
  struct schedule {
    bool is_known = false;
    u64 ran_ns = 0, queued_ns = 0;
  };
  static schedule schedule_of(u32 tid);
  void account(const schedule& now, bool is_blocked, u64 now_ns);

  u64 begin_ns_;
  u64 since_ns_;
  u32 turn_;
  u32 owner_ = 0;
  bool was_blocked_ = false;
  int system_call_ = -1;
  schedule before_{}, first_{};             ///< at the last look at the owner, and at the first
  u64 owner_ns_ = 0, owner_asleep_ns_ = 0;  ///< since the first look
  u64 queued_before_ns_ = 0, ran_before_ns_ = 0;  ///< while others were the owner
  enum part { ran, queued, asleep, others, parts };
  void add(part of, u64 ns) { spent_ns_[of] += ns; }

  u64 spent_ns_[parts] = {};
  part last_ = parts;  ///< the part with most of the last interval
};

}  // namespace lockyard::preload::record
