// SPDX-License-Identifier: Apache-2.0

// How std::atomic::wait and what is made with it (latch, barrier, semaphore) wait in a module's
// code: plain/std/bits/atomic_wait.h calls these functions.

#include "wrapped.hpp"

#include <cstring>

namespace lockyard::plain {

namespace {

/// Without an expected value it is the one that the thread read last. True if the limit ended it.
bool sleep_on(const void* object, std::size_t size, const void* expected, bool has_limit,
              const void* pc) {
  worker::mine().loop().act();
  const std::source_location where = place_of(pc);
  const auto at = reinterpret_cast<std::uintptr_t>(object);
  const part found = worker::mine().memory.word_at(at, static_cast<unsigned>(size), where);
  if (found.unit != size) {
    refuse("the code waits for a part of a larger atomic object", "give it an object of its own",
           where);
  }
  if (expected == nullptr && worker::mine().loop().has_seen_change()) return false;
  if (expected != nullptr) read_bytes(expected, size, pc);
  const std::uint64_t value =
      expected == nullptr
          ? worker::mine().loop().last_read(found.word)
          : encode(raw_value(reinterpret_cast<std::uintptr_t>(expected), size), found.unit);
  found.check_written(now().newest_value(found.word), where);
  const auto deadline = deadline_if(has_limit);
  return now().sleep(found.word, value, deadline, where) == model::sleep_end::timed_out;
}

}  // namespace

}  // namespace lockyard::plain

extern "C" {

void lockyard_atomic_wait(const void* object, unsigned long size, const void* expected) noexcept {
  lockyard::plain::sleep_on(object, size, expected, false, LOCKYARD_PC);
}
bool lockyard_atomic_wait_limited(const void* object, unsigned long size,
                                  const void* expected) noexcept {
  return lockyard::plain::sleep_on(object, size, expected, true, LOCKYARD_PC);
}
void lockyard_atomic_watch(const void* object, unsigned long size) noexcept {
  using namespace lockyard::plain;
  const auto at = reinterpret_cast<std::uintptr_t>(object);
  const part found = worker::mine().memory.word_at(at, static_cast<unsigned>(size), LOCKYARD_HERE);
  worker::mine().loop().watch(found.word);
}
void lockyard_atomic_wait_seen(const void* object, unsigned long size) noexcept {
  lockyard::plain::sleep_on(object, size, nullptr, false, LOCKYARD_PC);
}
bool lockyard_atomic_wait_seen_limited(const void* object, unsigned long size) noexcept {
  return lockyard::plain::sleep_on(object, size, nullptr, true, LOCKYARD_PC);
}
void lockyard_atomic_notify(const void* object, bool all) noexcept {
  using namespace lockyard::plain;
  if (!is_active()) return;
  worker::mine().loop().act();
  now().wake(object, all ? ~0U : 1U, LOCKYARD_HERE);
}
void lockyard_atomic_yield() noexcept {
  using namespace lockyard::plain;
  if (is_active()) worker::mine().loop().pause(LOCKYARD_HERE);
}
}
