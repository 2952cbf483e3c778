// SPDX-License-Identifier: Apache-2.0

// How std::atomic::wait and what is made with it (latch, barrier, semaphore) wait in a module's
// code: plain/std/bits/atomic_wait.h calls these functions.

#include "wrapped.hpp"

#include <cstring>

namespace lockyard::plain {

namespace {

location_index word_at(const void* object, std::size_t size, std::source_location where) {
  const auto at = reinterpret_cast<std::uintptr_t>(object);
  const part found = worker::mine().memory.word_at(at, static_cast<unsigned>(size), where);
  if (found.unit != size) {
    refuse("the code waits for a part of a larger atomic object", "give it an object of its own",
           where);
  }
  return found.word;
}

/// Waits for another value than the one that the thread has read last.
void wait(const void* object, std::size_t size, const void* pc) {
  const std::source_location where = place_of(pc);
  const location_index word = word_at(object, size, where);
  const auto how = now().wait_for_another_value(word, std::nullopt, where);
  if (how != model::sleep_end::changed) worker::mine().loop().act();
  clear_dead_stack();
}

/// The same with a limit; true if the limit ended it.
bool wait_limited(const void* object, std::size_t size, const void* pc) {
  const std::source_location where = place_of(pc);
  worker::mine().loop().act();
  const location_index word = word_at(object, size, where);
  const auto how = now().wait_for_another_value(word, deadline_if(true), where);
  return how == model::sleep_end::timed_out;
}

}  // namespace

}  // namespace lockyard::plain

extern "C" {

void lockyard_atomic_wait(const void* object, unsigned long size) noexcept {
  lockyard::plain::wait(object, size, LOCKYARD_PC);
}
bool lockyard_atomic_wait_limited(const void* object, unsigned long size) noexcept {
  return lockyard::plain::wait_limited(object, size, LOCKYARD_PC);
}
void lockyard_atomic_watch(const void* object, unsigned long size) noexcept {
  using namespace lockyard::plain;
  const auto at = reinterpret_cast<std::uintptr_t>(object);
  const part found = worker::mine().memory.word_at(at, static_cast<unsigned>(size), LOCKYARD_HERE);
  worker::mine().loop().watch(found.word);
}
bool lockyard_atomic_has_changed() noexcept {
  return lockyard::plain::worker::mine().loop().has_seen_change();
}
void lockyard_atomic_notify(const void* object, bool all) noexcept {
  using namespace lockyard::plain;
  if (!is_active()) return;
  worker::mine().loop().act();
  now().notify(object, all, LOCKYARD_HERE);
}
void lockyard_atomic_yield() noexcept {
  using namespace lockyard::plain;
  if (is_active()) worker::mine().loop().pause(LOCKYARD_HERE);
}
}
