// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/resilient/resilient_lock.hpp>
#include <lockyard/resilient/throwing.hpp>
#include <lockyard/world/default.hpp>

namespace lockyard::inline v0 {

/// resilient_spinlock whose waiters sleep after 10 to 20 µs, and go on looking for the reasons why
/// they wait. While those who are next sleep or wake up, newcomers may overtake them, until the
/// first one has slept or come too late eight times.
///
/// Use: as resilient_spinlock, where there are more threads than processors, or holds are long.
/// Guarantees: as there, but for the order. A wait for ever is not possible:
/// docs/locks/resilient.md
///   has the argument that no wake-up is lost, detail/resilient_line.hpp its short form.
/// Size: as there.
template <world W = default_world, resilience R = resilience{}>
class basic_resilient_mutex
    : public resilient_lock<basic_resilient_mutex<W, R>, W, R, detail::line_form::parks> {
 public:
  using basic_resilient_mutex::resilient_lock::resilient_lock;
};

using resilient_mutex = basic_resilient_mutex<>;

}  // namespace lockyard::inline v0
