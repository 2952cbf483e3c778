// SPDX-License-Identifier: Apache-2.0

// Mutexes, condition variables and pthread_once for a module's code, with which std::mutex and
// std::condition_variable are made. A mutex is a word: 0 if it is free, otherwise its owner and how
// often the owner holds it. A waiter leaves its mutex and falls asleep in one step.

#include "wrapped.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>

namespace lockyard::plain {

namespace {

int kind_of(const pthread_mutex_t* mutex) {
  return mutex->__data.__kind & 3;
}

std::uint64_t me_as_owner() {
  return now().self() + std::uint64_t{1};
}

/// Returns the result of a second lock by the owner; nullopt if the mutex is not the caller's, or
/// does not know its owner.
std::optional<int> take_again(pthread_mutex_t* mutex, location_index word, int otherwise,
                              std::source_location where) {
  const int kind = kind_of(mutex);
  if (kind != PTHREAD_MUTEX_RECURSIVE && kind != PTHREAD_MUTEX_ERRORCHECK) return std::nullopt;
  const std::uint64_t held = now().load(word, std::memory_order_relaxed, where);
  if ((held & 0xff) != me_as_owner()) return std::nullopt;
  if (kind == PTHREAD_MUTEX_ERRORCHECK) return otherwise;
  worker::mine().loop().enter(word);
  now().store(word, held + holds_once_more, std::memory_order_relaxed, where);
  return 0;
}

void note_taken(pthread_mutex_t* mutex, location_index word, const void* pc) {
  worker::mine().locks.note(mutex, lock_form::mutex, word, pc);
}

int lock(pthread_mutex_t* mutex, bool has_limit, const void* pc) {
  const std::source_location where = place_of(pc);
  const location_index word = word_of_system(mutex, where);
  if (has_limit) worker::mine().loop().act();
  if (const auto again = take_again(mutex, word, EDEADLK, where)) return *again;
  const model::look is_free{.where = word,
                            .order = std::memory_order_acquire,
                            .predicate = nullptr,
                            .test = [](const void*, std::uint64_t value) { return value == 0; }};
  const auto deadline = deadline_if(has_limit, true);
  const auto found =
      now().await(std::span{&is_free, 1}, deadline, model::change::to(me_as_owner()), where);
  if (!found) return ETIMEDOUT;
  note_taken(mutex, word, pc);
  if (has_limit) {
    worker::mine().loop().act();
  } else {
    worker::mine().loop().enter(word);
  }
  clear_dead_stack();
  return 0;
}

int try_lock(pthread_mutex_t* mutex, const void* pc) {
  const std::source_location where = place_of(pc);
  worker::mine().loop().look(pc, reinterpret_cast<std::uintptr_t>(mutex), where);
  const location_index word = word_of_system(mutex, where);
  if (const auto again = take_again(mutex, word, EBUSY, where)) return *again;
  std::uint64_t found = 0;
  const bool done = now().compare_exchange(word, found, me_as_owner(), std::memory_order_acquire,
                                           std::memory_order_relaxed, false, where);
  if (!done) return EBUSY;
  worker::mine().loop().act();
  note_taken(mutex, word, pc);
  return 0;
}

}  // namespace

int lock_in_loop(pthread_mutex_t* mutex, const void* pc) {
  worker::mine().loop().look_at_lock(pc, reinterpret_cast<std::uintptr_t>(mutex), place_of(pc));
  return lock(mutex, false, pc);
}

int unlock(pthread_mutex_t* mutex, std::source_location where) {
  const location_index word = word_of_system(mutex, where);
  if (kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK &&
      (now().load(word, std::memory_order_relaxed, where) & 0xff) != me_as_owner()) {
    worker::mine().loop().act();
    return EPERM;
  }
  const model::change release{
      .apply = [](std::uint64_t found,
                  std::uint64_t) { return found >= holds_once_more ? found - holds_once_more : 0; },
      .operand = 0};
  const std::uint64_t held = now().release_by(word, release, std::memory_order_release, where);
  if ((held & 0xff) != me_as_owner()) {
    now().fail(model::verdict::assertion, "unlocks a mutex that the thread does not hold", where);
  }
  worker::mine().loop().leave(word);
  clear_dead_stack();
  return 0;
}

namespace {

/// What std::lock() takes. Where an execution ends in the middle, nothing gives memory back.
using mutexes = std::span<pthread_mutex_t* const>;
constexpr std::size_t most_mutexes = 4;

/// Takes all in one step, once all are free. A real std::lock() holds some of them for a while
/// before it finds another one held, and gives them back: only an attempt can tell.
void lock_at_once(mutexes all, const void* pc) {
  const std::source_location where = place_of(pc);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const auto before = all.first(i);
    if (std::ranges::find(before, all[i]) == before.end()) continue;
    now().fail(model::verdict::assertion, "takes the same mutex twice at once", where);
  }
  std::array<location_index, most_mutexes> memory{};
  const std::span words = std::span{memory}.first(all.size());
  std::ranges::transform(all, words.begin(),
                         [&](const pthread_mutex_t* each) { return word_of_system(each, where); });
  now().note_step_on(words);
  const model::look are_free{
      .where = words.front(),
      .order = std::memory_order_acquire,
      .predicate = &words,
      .test = [](const void* others, std::uint64_t value) {
        return value == 0 && std::ranges::all_of(
                                 *static_cast<const std::span<location_index>*>(others),
                                 [](location_index each) { return now().newest_value(each) == 0; });
      }};
  const model::change take = model::change::to(me_as_owner());
  now().await(std::span{&are_free, 1}, std::nullopt, take, where);
  const one_step with_the_first;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != 0) now().exchange_by(words[i], take, std::memory_order_acquire, where);
    note_taken(all[i], words[i], pc);
    worker::mine().loop().enter(words[i]);
  }
}

/// Takes one, tries the others, and begins anew with another one until it has all.
void lock_in_turns(mutexes all, const void* pc) {
  for (std::size_t first = 0;;) {
    lock(all[first], false, pc);
    std::size_t taken = 1;
    const auto at = [&](std::size_t number) { return all[(first + number) % all.size()]; };
    while (taken < all.size() && try_lock(at(taken), pc) == 0) ++taken;
    if (taken == all.size()) return;
    const std::size_t held = taken;
    for (; taken > 0; --taken) unlock(at(taken - 1), place_of(pc));
    first = (first + held) % all.size();
    worker::mine().loop().act();  // no caller's state says where the next turn begins
  }
}

/// A condition variable has one mutex at a time ([thread.condition.condvar], POSIX).
void check_mutex(location_index sleeps_on, const pthread_mutex_t* mutex,
                 std::source_location where) {
  auto& storage = worker::mine().storage;
  for (const model::thread_index each : now().sleepers_on(sleeps_on)) {
    if (storage[each].waits_with == mutex) continue;
    now().fail(model::verdict::assertion,
               "waits on a condition variable with another mutex than T" + std::to_string(each) +
                   ", which waits on it at the same time",
               where);
  }
  storage[now().self()].waits_with = mutex;
}

int wait(pthread_cond_t* on, pthread_mutex_t* mutex, bool has_limit, const void* pc) {
  const std::source_location where = place_of(pc);
  const location_index sleeps_on = word_of_system(on, where);
  worker::mine().loop().act();
  now().use(sleeps_on, where);
  if (const int error = unlock(mutex, where); error != 0) return error;
  const auto deadline = deadline_if(has_limit);
  const auto end = [&] {
    const one_step with_the_unlock;
    check_mutex(sleeps_on, mutex, where);
    return now().sleep({.on = sleeps_on, .expected = 0, .deadline = deadline, .may_end = true},
                       where);
  }();
  lock(mutex, false, pc);
  return end == model::sleep_end::timed_out ? ETIMEDOUT : 0;
}

int wake(pthread_cond_t* on, std::uint32_t count, std::source_location where) {
  worker::mine().loop().act();
  now().use(word_of_system(on, where), where);
  now().wake({.address = on, .count = count}, where);
  return 0;
}

/// What std::notify_all_at_thread_exit() asks for.
void leave(void* mutex, void* on, const void* pc) {
  const std::source_location where = place_of(pc);
  unlock(static_cast<std::mutex*>(mutex)->native_handle(), where);
  wake(static_cast<std::condition_variable*>(on)->native_handle(), ~0U, where);
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's.
extern "C" {

using lockyard::plain::without_traces;

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (!lockyard::plain::is_active()) return pthread_mutex_lock(mutex);
  LOCKYARD_NOTE_CALLER;
  return without_traces(lockyard::plain::lock_in_loop(mutex, LOCKYARD_PC));
}
int __wrap_pthread_mutex_timedlock(pthread_mutex_t* mutex, const std::timespec* /*limit*/) {
  return lockyard::plain::lock(mutex, true, LOCKYARD_PC);
}
int __wrap_pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t /*clock*/,
                                   const std::timespec* /*limit*/) {
  return lockyard::plain::lock(mutex, true, LOCKYARD_PC);
}
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  if (!lockyard::plain::is_active()) return pthread_mutex_trylock(mutex);
  LOCKYARD_NOTE_CALLER;
  return lockyard::plain::try_lock(mutex, LOCKYARD_PC);
}
void lockyard_lock_all(void* const* mutexes, std::size_t count) noexcept {
  using namespace lockyard::plain;
  std::array<pthread_mutex_t*, most_mutexes> memory{};
  const std::span all = std::span{memory}.first(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<pthread_mutex_t*>(mutexes[i]);
  if (!is_active()) {
    for (pthread_mutex_t* each : all) pthread_mutex_lock(each);
    return;
  }
  LOCKYARD_NOTE_CALLER;
  if (may_try_locks()) {
    lock_in_turns(all, LOCKYARD_PC);
  } else {
    worker::mine().loop().look_at_lock(LOCKYARD_PC, reinterpret_cast<std::uintptr_t>(all.front()),
                                       place_of(LOCKYARD_PC));
    lock_at_once(all, LOCKYARD_PC);
  }
  clear_dead_stack();
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  if (!lockyard::plain::is_active()) return pthread_mutex_unlock(mutex);
  return without_traces(lockyard::plain::unlock(mutex, LOCKYARD_HERE));
}
int __wrap_pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  lockyard::plain::write_bytes(mutex, sizeof *mutex, LOCKYARD_PC);
  return pthread_mutex_init(mutex, attributes);
}
int __wrap_pthread_mutex_destroy(pthread_mutex_t* mutex) {
  return lockyard::plain::end_of_system_lock(mutex, sizeof *mutex, LOCKYARD_HERE);
}

int __wrap_pthread_cond_init(pthread_cond_t* condition, const pthread_condattr_t* attributes) {
  lockyard::plain::write_bytes(condition, sizeof *condition, LOCKYARD_PC);
  return pthread_cond_init(condition, attributes);
}
int __wrap_pthread_cond_destroy(pthread_cond_t* condition) {
  return lockyard::plain::end_of_system_object(condition, sizeof *condition, LOCKYARD_HERE);
}
int __wrap_pthread_cond_wait(pthread_cond_t* on, pthread_mutex_t* mutex) {
  return lockyard::plain::wait(on, mutex, false, LOCKYARD_PC);
}
int __wrap_pthread_cond_timedwait(pthread_cond_t* on, pthread_mutex_t* mutex,
                                  const std::timespec* /*limit*/) {
  return lockyard::plain::wait(on, mutex, true, LOCKYARD_PC);
}
int __wrap_pthread_cond_clockwait(pthread_cond_t* on, pthread_mutex_t* mutex, clockid_t /*clock*/,
                                  const std::timespec* /*limit*/) {
  return lockyard::plain::wait(on, mutex, true, LOCKYARD_PC);
}
int __wrap_pthread_cond_signal(pthread_cond_t* on) {
  return lockyard::plain::wake(on, 1, LOCKYARD_HERE);
}
int __wrap_pthread_cond_broadcast(pthread_cond_t* on) {
  return lockyard::plain::wake(on, ~0U, LOCKYARD_HERE);
}

// std::condition_variable: these members are in the C++ library.
void __wrap__ZNSt18condition_variableC1Ev(std::condition_variable* self) {
  lockyard::plain::write_bytes(self, sizeof *self, LOCKYARD_PC);
  ::new (self) std::condition_variable;
}
void __wrap__ZNSt18condition_variableC2Ev(std::condition_variable* self) {
  lockyard::plain::write_bytes(self, sizeof *self, LOCKYARD_PC);
  ::new (self) std::condition_variable;
}
/// Threads that have been notified may still leave it ([thread.condition.condvar]).
void __wrap__ZNSt18condition_variableD1Ev(std::condition_variable* self) {
  if (!lockyard::plain::is_active()) return self->~condition_variable();
  lockyard::plain::end_of_system_object(self->native_handle(), sizeof *self, LOCKYARD_HERE);
}
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* self, std::unique_lock<std::mutex>* held) {
  lockyard::plain::wait(self->native_handle(), held->mutex()->native_handle(), false, LOCKYARD_PC);
}
void __wrap__ZNSt18condition_variable10notify_oneEv(std::condition_variable* self) {
  lockyard::plain::wake(self->native_handle(), 1, LOCKYARD_HERE);
}
void __wrap__ZNSt18condition_variable10notify_allEv(std::condition_variable* self) {
  lockyard::plain::wake(self->native_handle(), ~0U, LOCKYARD_HERE);
}
void __wrap__ZSt25notify_all_at_thread_exitRSt18condition_variableSt11unique_lockISt5mutexE(
    std::condition_variable* on, std::unique_lock<std::mutex>* held) {
  lockyard::plain::write_bytes(held, sizeof *held, LOCKYARD_PC);
  lockyard::plain::thread_storage::at_end(
      {.run = &lockyard::plain::leave, .first = held->release(), .second = on, .pc = LOCKYARD_PC});
}
}
// NOLINTEND(bugprone-reserved-identifier)
