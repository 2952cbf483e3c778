// SPDX-License-Identifier: Apache-2.0
#pragma once

// Users' locks for the simulator. A module is a shared object that lockyard compiles from a user's
// headers, in the simulated world; it calls the engine's functions, which the simulator exports.

#include "subjects.hpp"
#include "world.hpp"

#include <lockyard/world/in_world.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lockyard::simulation {

template <class Lock>
concept written_against_a_world = requires { typename in_world_t<Lock, simulated>; };

/// The subject of a user's lock, from its instantiation for any world.
template <class Lock>
constexpr subject subject_of_user(std::string_view name) {
  if constexpr (!written_against_a_world<Lock>) {
    static_assert(written_against_a_world<Lock>,
                  "it is not a class template whose first parameter is a lockyard::world");
    return {};
  } else {
    using simulated_lock = in_world_t<Lock, simulated>;
    static_assert(
        requires(simulated_lock& lock) {
          lock.lock();
          lock.unlock();
        }, "it lacks lock() or unlock()");
    static_assert(std::default_initializable<simulated_lock>,
                  "it has no constructor without arguments");
    return subject_of<simulated_lock>({.name = name,
                                       .seed_name = {},
                                       .kind = lock_kind::user,
                                       .family = lock_family::none,
                                       .waiting = waiting::unknown,
                                       .fairness = fairness::none,
                                       .origin = {}});
  }
}

/// Loads a module, once per process, and returns its locks. Throws std::invalid_argument.
std::span<const subject> subjects_of_module(const std::string& path);

}  // namespace lockyard::simulation

extern "C" {
extern const lockyard::simulation::subject lockyard_simulated_locks[];
extern const std::size_t lockyard_simulated_lock_count;
}
