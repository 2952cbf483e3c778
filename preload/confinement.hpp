// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs that confine their own system calls by seccomp. The kernel may end such a program for a
// call that the program itself never makes, so a library makes none of its own from then on: no
// file is opened, and no thread yields. The calls by which programs confine themselves are entries.
// A confinement that a program inherits is its container's, which lets it open files.

#include "glibc.hpp"

#include <linux/seccomp.h>
#include <sys/prctl.h>

namespace lockyard::preload {

inline constinit std::atomic<bool> confined{false};

/// Returns whether the process has confined itself, or tried to.
inline bool is_confined() noexcept {
  // relaxed(owner): the process sets it before it confines itself.
  return confined.load(std::memory_order_relaxed);
}

enum class confinement {
  none,
  filter,
  strict,  ///< only of the thread, which cannot even read the processor's counter any longer
};

/// Returns to what the system call, of which these are two arguments, confines the caller.
inline confinement confinement_by(long number, long first, long second) noexcept {
  if (number == SYS_prctl && first == PR_SET_SECCOMP)
    return second == SECCOMP_MODE_STRICT ? confinement::strict : confinement::filter;
  if (number != SYS_seccomp) return confinement::none;
  if (first == SECCOMP_SET_MODE_STRICT) return confinement::strict;
  return first == SECCOMP_SET_MODE_FILTER ? confinement::filter : confinement::none;
}

/// Before such a system call: calls `prepare` if it will confine the caller.
inline void note_confinement(confinement to, void (*prepare)(confinement) noexcept) noexcept {
  if (to == confinement::none) return;
  prepare(to);
  // relaxed(owner): as above.
  confined.store(true, std::memory_order_relaxed);
}

}  // namespace lockyard::preload
