// SPDX-License-Identifier: Apache-2.0

// The C functions of lockyard.h, each by the C++ class of its name:
// docs/decisions/0016-the-c-abi.md.

#include <lockyard.h>

#include <lockyard/event/auto_reset_event.hpp>
#include <lockyard/event/manual_reset_event.hpp>
#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/fair_mutex.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/park/semaphore.hpp>
#include <lockyard/park/shared_mutex.hpp>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <type_traits>

namespace {

/// The C++ object that a C struct is. Which of its bytes are what, tests/capi looks at.
template <class Object, class Struct>
Object& as(Struct* c) noexcept {
  static_assert(sizeof(Object) == sizeof(Struct) && alignof(Object) <= alignof(Struct));
  static_assert(std::is_trivially_destructible_v<Object>);
  return *std::launder(reinterpret_cast<Object*>(c));
}

auto& of(lockyard_mutex* c) noexcept {
  return as<lockyard::mutex>(c);
}
auto& of(lockyard_fair_mutex* c) noexcept {
  return as<lockyard::fair_mutex>(c);
}
auto& of(lockyard_shared_mutex* c) noexcept {
  return as<lockyard::shared_mutex>(c);
}
auto& of(lockyard_condition* c) noexcept {
  return as<lockyard::condition_variable>(c);
}
auto& of(lockyard_semaphore* c) noexcept {
  return as<lockyard::semaphore>(c);
}
auto& of(lockyard_manual_event* c) noexcept {
  return as<lockyard::manual_reset_event>(c);
}
auto& of(lockyard_auto_event* c) noexcept {
  return as<lockyard::auto_reset_event>(c);
}

using std::chrono::nanoseconds;
using time_point = std::chrono::steady_clock::time_point;
static_assert(std::is_same_v<time_point::duration, nanoseconds>);

/// Returns nothing for an invalid time, and the end of the clock for a time beyond it.
std::optional<time_point> time_of(const timespec& limit) noexcept {
  constexpr long second = 1'000'000'000;
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / second;
  if (limit.tv_nsec < 0 || limit.tv_nsec >= second) return std::nullopt;
  if (limit.tv_sec >= most) return time_point::max();
  if (limit.tv_sec < 0) return time_point{};
  return time_point{std::chrono::seconds{limit.tv_sec} + nanoseconds{limit.tv_nsec}};
}

int done_or(int error, bool done) noexcept {
  return done ? 0 : error;
}

/// By an attempt that takes a point in time.
template <class Attempt>
int done_until(const timespec* limit, Attempt attempt) noexcept {
  const auto time = time_of(*limit);
  return time ? done_or(ETIMEDOUT, attempt(*time)) : EINVAL;
}

bool is_count(std::int64_t permits) noexcept {
  return permits >= 0 && permits <= LOCKYARD_SEMAPHORE_MAX;
}
static_assert(lockyard::semaphore::max() == LOCKYARD_SEMAPHORE_MAX);

}  // namespace

void lockyard_mutex_lock(lockyard_mutex* mutex) {
  of(mutex).lock();
}
int lockyard_mutex_try_lock(lockyard_mutex* mutex) {
  return done_or(EBUSY, of(mutex).try_lock());
}
int lockyard_mutex_lock_for(lockyard_mutex* mutex, int64_t ns) {
  return done_or(ETIMEDOUT, of(mutex).try_lock_for(nanoseconds{ns}));
}
int lockyard_mutex_lock_until(lockyard_mutex* mutex, const timespec* limit) {
  return done_until(limit, [=](time_point time) { return of(mutex).try_lock_until(time); });
}
void lockyard_mutex_unlock(lockyard_mutex* mutex) {
  of(mutex).unlock();
}

void lockyard_fair_mutex_lock(lockyard_fair_mutex* mutex) {
  of(mutex).lock();
}
int lockyard_fair_mutex_try_lock(lockyard_fair_mutex* mutex) {
  return done_or(EBUSY, of(mutex).try_lock());
}
int lockyard_fair_mutex_lock_for(lockyard_fair_mutex* mutex, int64_t ns) {
  return done_or(ETIMEDOUT, of(mutex).try_lock_for(nanoseconds{ns}));
}
int lockyard_fair_mutex_lock_until(lockyard_fair_mutex* mutex, const timespec* limit) {
  return done_until(limit, [=](time_point time) { return of(mutex).try_lock_until(time); });
}
void lockyard_fair_mutex_unlock(lockyard_fair_mutex* mutex) {
  of(mutex).unlock();
}

void lockyard_shared_mutex_lock(lockyard_shared_mutex* mutex) {
  of(mutex).lock();
}
int lockyard_shared_mutex_try_lock(lockyard_shared_mutex* mutex) {
  return done_or(EBUSY, of(mutex).try_lock());
}
int lockyard_shared_mutex_lock_for(lockyard_shared_mutex* mutex, int64_t ns) {
  return done_or(ETIMEDOUT, of(mutex).try_lock_for(nanoseconds{ns}));
}
int lockyard_shared_mutex_lock_until(lockyard_shared_mutex* mutex, const timespec* limit) {
  return done_until(limit, [=](time_point time) { return of(mutex).try_lock_until(time); });
}
void lockyard_shared_mutex_unlock(lockyard_shared_mutex* mutex) {
  of(mutex).unlock();
}

void lockyard_shared_mutex_lock_shared(lockyard_shared_mutex* mutex) {
  of(mutex).lock_shared();
}
int lockyard_shared_mutex_try_lock_shared(lockyard_shared_mutex* mutex) {
  return done_or(EBUSY, of(mutex).try_lock_shared());
}
int lockyard_shared_mutex_lock_shared_for(lockyard_shared_mutex* mutex, int64_t ns) {
  return done_or(ETIMEDOUT, of(mutex).try_lock_shared_for(nanoseconds{ns}));
}
int lockyard_shared_mutex_lock_shared_until(lockyard_shared_mutex* mutex, const timespec* limit) {
  return done_until(limit, [=](time_point time) { return of(mutex).try_lock_shared_until(time); });
}
void lockyard_shared_mutex_unlock_shared(lockyard_shared_mutex* mutex) {
  of(mutex).unlock_shared();
}

void lockyard_shared_mutex_lock_upgrade(lockyard_shared_mutex* mutex) {
  of(mutex).lock_upgrade();
}
int lockyard_shared_mutex_try_lock_upgrade(lockyard_shared_mutex* mutex) {
  return done_or(EBUSY, of(mutex).try_lock_upgrade());
}
void lockyard_shared_mutex_unlock_upgrade(lockyard_shared_mutex* mutex) {
  of(mutex).unlock_upgrade();
}
void lockyard_shared_mutex_unlock_upgrade_and_lock(lockyard_shared_mutex* mutex) {
  of(mutex).unlock_upgrade_and_lock();
}
void lockyard_shared_mutex_unlock_upgrade_and_lock_shared(lockyard_shared_mutex* mutex) {
  of(mutex).unlock_upgrade_and_lock_shared();
}
void lockyard_shared_mutex_unlock_and_lock_shared(lockyard_shared_mutex* mutex) {
  of(mutex).unlock_and_lock_shared();
}
void lockyard_shared_mutex_unlock_and_lock_upgrade(lockyard_shared_mutex* mutex) {
  of(mutex).unlock_and_lock_upgrade();
}

void lockyard_condition_wait(lockyard_condition* condition, lockyard_mutex* mutex) {
  of(condition).wait(of(mutex));
}
int lockyard_condition_wait_for(lockyard_condition* condition, lockyard_mutex* mutex, int64_t ns) {
  const auto status = of(condition).wait_for(of(mutex), nanoseconds{ns});
  return done_or(ETIMEDOUT, status == std::cv_status::no_timeout);
}
int lockyard_condition_wait_until(lockyard_condition* condition, lockyard_mutex* mutex,
                                  const timespec* limit) {
  return done_until(limit, [=](time_point time) {
    return of(condition).wait_until(of(mutex), time) == std::cv_status::no_timeout;
  });
}
void lockyard_condition_notify_one(lockyard_condition* condition) {
  of(condition).notify_one();
}
void lockyard_condition_notify_all(lockyard_condition* condition) {
  of(condition).notify_all();
}

int lockyard_semaphore_init(lockyard_semaphore* semaphore, int64_t permits) {
  if (!is_count(permits)) return EINVAL;
  ::new (semaphore) lockyard::semaphore{permits};
  return 0;
}
int lockyard_semaphore_acquire(lockyard_semaphore* semaphore, int64_t permits) {
  if (!is_count(permits)) return EINVAL;
  of(semaphore).acquire(permits);
  return 0;
}
int lockyard_semaphore_try_acquire(lockyard_semaphore* semaphore, int64_t permits) {
  if (!is_count(permits)) return EINVAL;
  return done_or(EAGAIN, of(semaphore).try_acquire(permits));
}
int lockyard_semaphore_acquire_for(lockyard_semaphore* semaphore, int64_t permits, int64_t ns) {
  if (!is_count(permits)) return EINVAL;
  return done_or(ETIMEDOUT, of(semaphore).try_acquire_for(permits, nanoseconds{ns}));
}
int lockyard_semaphore_acquire_until(lockyard_semaphore* semaphore, int64_t permits,
                                     const timespec* limit) {
  if (!is_count(permits)) return EINVAL;
  return done_until(
      limit, [=](time_point time) { return of(semaphore).try_acquire_until(permits, time); });
}
int lockyard_semaphore_release(lockyard_semaphore* semaphore, int64_t permits) {
  if (!is_count(permits)) return EINVAL;
  return done_or(EOVERFLOW, of(semaphore).try_release(permits));
}

void lockyard_manual_event_set(lockyard_manual_event* event) {
  of(event).set();
}
void lockyard_manual_event_reset(lockyard_manual_event* event) {
  of(event).reset();
}
void lockyard_manual_event_wait(lockyard_manual_event* event) {
  of(event).wait();
}
int lockyard_manual_event_try_wait(lockyard_manual_event* event) {
  return done_or(EAGAIN, of(event).try_wait());
}
int lockyard_manual_event_wait_for(lockyard_manual_event* event, int64_t ns) {
  return done_or(ETIMEDOUT, of(event).wait_for(nanoseconds{ns}));
}
int lockyard_manual_event_wait_until(lockyard_manual_event* event, const timespec* limit) {
  return done_until(limit, [=](time_point time) { return of(event).wait_until(time); });
}

void lockyard_auto_event_set(lockyard_auto_event* event) {
  of(event).set();
}
void lockyard_auto_event_reset(lockyard_auto_event* event) {
  of(event).reset();
}
void lockyard_auto_event_wait(lockyard_auto_event* event) {
  of(event).wait();
}
int lockyard_auto_event_try_wait(lockyard_auto_event* event) {
  return done_or(EAGAIN, of(event).try_wait());
}
int lockyard_auto_event_wait_for(lockyard_auto_event* event, int64_t ns) {
  return done_or(ETIMEDOUT, of(event).wait_for(nanoseconds{ns}));
}
int lockyard_auto_event_wait_until(lockyard_auto_event* event, const timespec* limit) {
  return done_until(limit, [=](time_point time) { return of(event).wait_until(time); });
}
