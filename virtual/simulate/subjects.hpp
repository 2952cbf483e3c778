// SPDX-License-Identifier: Apache-2.0
#pragma once

// The locks that can be simulated, behind one interface: a call through a pointer costs no virtual
// time.

#include "engine.hpp"

#include <lockyard/lock_traits.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace lockyard::simulation {

struct subject {
  lock_traits traits;
  std::size_t size, alignment;
  void (*construct)(void* at);
  void (*lock)(void* at);
  void (*unlock)(void* at);
};

template <class Lock>
constexpr subject subject_of(const lock_traits& traits) {
  return {.traits = traits,
          .size = sizeof(Lock),
          .alignment = alignof(Lock),
          .construct = [](void* at) { ::new (at) Lock{}; },
          .lock = [](void* at) { static_cast<Lock*>(at)->lock(); },
          .unlock = [](void* at) { static_cast<Lock*>(at)->unlock(); }};
}

/// The catalogue's locks that are written against a world, in its order.
std::span<const subject> catalogue_subjects();

/// A lock in the arena, on cache lines of its own.
class lock_object {
 public:
  lock_object(engine& on, const subject& of)
      : on_{&on}, of_{&of}, at_{on.memory().allocate((of.size + 63) / 64 * 64, 64)} {
    of.construct(at_);
    on.name_lock(at_, of.traits.name);
  }
  void lock() const {
    on_->stamp(trace::event_kind::called, at_);
    of_->lock(at_);
    on_->stamp(trace::event_kind::acquired, at_);
  }
  void unlock() const {
    on_->stamp(trace::event_kind::releasing, at_);
    of_->unlock(at_);
    on_->stamp(trace::event_kind::released, at_);
  }

 private:
  engine* on_;
  const subject* of_;
  void* at_;
};

}  // namespace lockyard::simulation
