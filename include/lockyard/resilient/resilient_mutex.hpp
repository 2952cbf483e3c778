// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/resilient/resilient_lock.hpp>
#include <lockyard/resilient/throwing.hpp>
#include <lockyard/world/default.hpp>

namespace lockyard::inline v0 {

/// A resilient_spinlock whose waiters sleep after 10 to 20 µs, and continue to check why they wait.
/// While the first waiters sleep or wake up, newcomers may barge past them, until the first waiter
/// has slept or come too late eight times.
///
/// Use: as resilient_spinlock, where there are more threads than processors, or holds are long.
/// Guarantees: as resilient_spinlock, except for the order. No wait lasts forever:
///   docs/locks/resilient.md has the argument that no wake is lost, and detail/resilient_line.hpp
///   has its short form.
/// Size: as resilient_spinlock.
template <world W = default_world, resilience R = resilience{}>
class basic_resilient_mutex
    : public resilient_lock<basic_resilient_mutex<W, R>, W, R, detail::line_form::parks> {
 public:
  using basic_resilient_mutex::resilient_lock::resilient_lock;
};

using resilient_mutex = basic_resilient_mutex<>;

}  // namespace lockyard::inline v0
