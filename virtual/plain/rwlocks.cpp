// SPDX-License-Identifier: Apache-2.0

// Read-write locks, spinlocks, semaphores and barriers of the C library for a module's code, with
// which std::shared_mutex is made. Each is a word at the beginning of its object.

#include "wrapped.hpp"

#include <pthread.h>
#include <semaphore.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

namespace lockyard::plain {

namespace {

using test = bool (*)(const void*, std::uint64_t);

bool is_zero(const void* /*none*/, std::uint64_t value) {
  return value == 0;
}
bool has_no_writer(const void* /*none*/, std::uint64_t value) {
  return value < has_writer;
}
bool is_positive(const void* /*none*/, std::uint64_t value) {
  return value != 0;
}

std::uint64_t me_as_writer() {
  return (now().self() + std::uint64_t{1}) * has_writer;
}

enum class wait : std::uint8_t { none, to_the_end, limited };

bool add_if(location_index word, test passes, const model::change& add,
            std::source_location where) {
  for (;;) {
    std::uint64_t found = now().load(word, std::memory_order_relaxed, where);
    if (!passes(nullptr, found)) return false;
    if (now().compare_exchange(word, found, add.of(found), std::memory_order_acquire,
                               std::memory_order_relaxed, false, where))
      return true;
  }
}

/// Waits for a value that passes the test, and adds to it, as one step. False if the wait ended
/// before, or there was none.
bool add_when(const void* object, test passes, std::uint64_t addend, wait how, const void* pc) {
  const std::source_location where = place_of(pc);
  spins& loop = worker::mine().loop();
  const bool is_lock = passes != &is_positive;
  const bool is_section = is_lock && how == wait::to_the_end;
  if (how == wait::none) {
    // A loop of attempts that fail is a spin.
    const auto line = static_cast<std::uintptr_t>(where.line());
    loop.look(reinterpret_cast<const void*>(line), reinterpret_cast<std::uintptr_t>(object), where);
  } else if (is_section) {
    loop.look_at_lock(pc, reinterpret_cast<std::uintptr_t>(object), where);
  } else {
    loop.act();
  }
  const location_index word = word_of_system(object, where);
  const model::change add{.apply = [](std::uint64_t found, std::uint64_t by) { return found + by; },
                          .operand = addend};
  if (how == wait::none) {
    if (!add_if(word, passes, add, where)) return false;
  } else {
    const model::look look{
        .where = word, .order = std::memory_order_acquire, .predicate = nullptr, .test = passes};
    const auto deadline = deadline_if(how == wait::limited, true);
    if (!now().await(std::span{&look, 1}, deadline, add, where)) return false;
  }
  if (is_section) {
    loop.enter(word);
  } else {
    loop.act();
  }
  if (is_lock) worker::mine().locks.note(object, lock_form::read_write, word, pc);
  clear_dead_stack();
  return true;
}

int unlock_rwlock(const void* lock, std::source_location where) {
  const location_index word = word_of_system(lock, where);
  // Only this thread can have put itself there, or its reader's count.
  const model::change release{
      .apply =
          [](std::uint64_t found, std::uint64_t writer) {
            return found >= has_writer ? found - writer : std::max<std::uint64_t>(found, 1) - 1;
          },
      .operand = me_as_writer()};
  const bool is_mine = now().newest_value(word) == me_as_writer();
  const std::uint64_t held =
      is_mine ? now().release_by(word, release, std::memory_order_release, where)
              : now().exchange_by(word, release, std::memory_order_release, where);
  if (held == 0 || (held >= has_writer && held != me_as_writer())) {
    now().fail(model::verdict::assertion, "unlocks a lock that the thread does not hold", where);
  }
  worker::mine().loop().leave(word);
  clear_dead_stack();
  return 0;
}

int to_status(bool done, int otherwise) {
  return done ? 0 : otherwise;
}

/// A semaphore's functions report by errno.
int to_result(bool done, int reason) {
  return done ? 0 : failed(reason);
}

void initialise(void* object, std::size_t size, std::uint32_t value, const void* pc) {
  if (is_active()) write_bytes(object, size, pc);
  *static_cast<std::uint32_t*>(object) = value;
}

/// A barrier: its rounds and the arrivals in this round, the number that it waits for, and which
/// threads have not left it yet.
struct barrier_words {
  std::uint32_t arrived;
  std::uint32_t count;
  std::array<std::uint8_t, model::max_threads> inside;
};
static_assert(sizeof(barrier_words) <= sizeof(pthread_barrier_t));
constexpr std::uint64_t round = 0x100;

location_index word_of_thread(barrier_words& in, std::size_t thread, std::source_location where) {
  const auto at = reinterpret_cast<std::uintptr_t>(&in.inside[thread]);
  return worker::mine().memory.word_at(at, 1, where).word;
}

int wait_at(pthread_barrier_t* barrier, std::source_location where) {
  worker::mine().loop().act();
  auto& words = *reinterpret_cast<barrier_words*>(barrier);
  const location_index word = word_of_system(barrier, where);
  const location_index inside = word_of_thread(words, now().self(), where);
  now().store(inside, 1, std::memory_order_relaxed, where);
  const model::change arrive{.apply =
                                 [](std::uint64_t found, std::uint64_t count) {
                                   return found % round + 1 == count ? (found / round + 1) * round
                                                                     : found + 1;
                                 },
                             .operand = words.count};
  const std::uint64_t found = now().exchange_by(word, arrive, std::memory_order_acq_rel, where);
  if (found % round + 1 == words.count) {
    now().store(inside, 0, std::memory_order_release, where);
    return PTHREAD_BARRIER_SERIAL_THREAD;
  }
  const std::uint64_t mine = found / round;
  const model::look next{.where = word,
                         .order = std::memory_order_acquire,
                         .predicate = &mine,
                         .test = [](const void* before, std::uint64_t value) {
                           return value / round != *static_cast<const std::uint64_t*>(before);
                         }};
  now().await(std::span{&next, 1}, std::nullopt, std::nullopt, where);
  now().store(inside, 0, std::memory_order_release, where);
  return 0;
}

/// One thread may destroy a barrier as soon as its own wait has ended: the function waits until the
/// others have left.
int end_of_barrier(pthread_barrier_t* barrier, std::source_location where) {
  if (!is_active()) return 0;
  worker::mine().loop().act();
  auto& words = *reinterpret_cast<barrier_words*>(barrier);
  const location_index word = word_of_system(barrier, where);
  if (now().load(word, std::memory_order_relaxed, where) % round != 0) {
    now().fail(model::verdict::lifetime, "a barrier is destroyed while a thread waits at it",
               where);
  }
  for (std::size_t i = 0; i < model::max_threads; ++i) {
    if (!worker::mine().memory.is_word(reinterpret_cast<std::uintptr_t>(&words.inside[i])))
      continue;
    const model::look left{.where = word_of_thread(words, i, where),
                           .order = std::memory_order_acquire,
                           .predicate = nullptr,
                           .test = &is_zero};
    now().await(std::span{&left, 1}, std::nullopt, std::nullopt, where);
  }
  return end_of_system_object(barrier, sizeof *barrier, where);
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's.
extern "C" {

using lockyard::plain::add_when;
using lockyard::plain::me_as_writer;
using lockyard::plain::to_result;
using lockyard::plain::to_status;
using lockyard::plain::wait;
using lockyard::plain::without_traces;

#define LOCKYARD_WRITES(name, how, otherwise, ...)                                                \
  int __wrap_pthread_rwlock_##name(pthread_rwlock_t* lock __VA_ARGS__) {                          \
    return to_status(add_when(lock, &lockyard::plain::is_zero, me_as_writer(), how, LOCKYARD_PC), \
                     otherwise);                                                                  \
  }
#define LOCKYARD_READS(name, how, otherwise, ...)                                          \
  int __wrap_pthread_rwlock_##name(pthread_rwlock_t* lock __VA_ARGS__) {                   \
    return to_status(add_when(lock, &lockyard::plain::has_no_writer, 1, how, LOCKYARD_PC), \
                     otherwise);                                                           \
  }
int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  LOCKYARD_NOTE_CALLER;
  add_when(lock, &lockyard::plain::is_zero, me_as_writer(), wait::to_the_end, LOCKYARD_PC);
  return without_traces(0);
}
LOCKYARD_WRITES(trywrlock, wait::none, EBUSY)
LOCKYARD_WRITES(timedwrlock, wait::limited, ETIMEDOUT, , const std::timespec*)
LOCKYARD_WRITES(clockwrlock, wait::limited, ETIMEDOUT, , clockid_t, const std::timespec*)
int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  LOCKYARD_NOTE_CALLER;
  add_when(lock, &lockyard::plain::has_no_writer, 1, wait::to_the_end, LOCKYARD_PC);
  return without_traces(0);
}
LOCKYARD_READS(tryrdlock, wait::none, EBUSY)
LOCKYARD_READS(timedrdlock, wait::limited, ETIMEDOUT, , const std::timespec*)
LOCKYARD_READS(clockrdlock, wait::limited, ETIMEDOUT, , clockid_t, const std::timespec*)

int __wrap_pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  return lockyard::plain::unlock_rwlock(lock, LOCKYARD_HERE);
}
int __wrap_pthread_rwlock_init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* /*how*/) {
  lockyard::plain::initialise(lock, sizeof *lock, 0, LOCKYARD_PC);
  return 0;
}
int __wrap_pthread_rwlock_destroy(pthread_rwlock_t* lock) {
  return lockyard::plain::end_of_system_lock(lock, sizeof *lock, LOCKYARD_HERE);
}

int __wrap_pthread_spin_init(pthread_spinlock_t* lock, int /*shared*/) {
  lockyard::plain::initialise(const_cast<int*>(lock), sizeof *lock, 0, LOCKYARD_PC);
  return 0;
}
int __wrap_pthread_spin_destroy(pthread_spinlock_t* lock) {
  return lockyard::plain::end_of_system_lock(const_cast<int*>(lock), sizeof *lock, LOCKYARD_HERE);
}
int __wrap_pthread_spin_lock(pthread_spinlock_t* lock) {
  LOCKYARD_NOTE_CALLER;
  add_when(const_cast<int*>(lock), &lockyard::plain::is_zero, me_as_writer(), wait::to_the_end,
           LOCKYARD_PC);
  return without_traces(0);
}
int __wrap_pthread_spin_trylock(pthread_spinlock_t* lock) {
  return to_status(add_when(const_cast<int*>(lock), &lockyard::plain::is_zero, me_as_writer(),
                            wait::none, LOCKYARD_PC),
                   EBUSY);
}
int __wrap_pthread_spin_unlock(pthread_spinlock_t* lock) {
  return lockyard::plain::unlock_rwlock(const_cast<int*>(lock), LOCKYARD_HERE);
}

int __wrap_sem_init(sem_t* semaphore, int /*shared*/, unsigned value) {
  if (value > SEM_VALUE_MAX) return to_result(false, EINVAL);
  lockyard::plain::initialise(semaphore, sizeof *semaphore, value, LOCKYARD_PC);
  return 0;
}
int __wrap_sem_destroy(sem_t* semaphore) {
  return lockyard::plain::end_of_system_object(semaphore, sizeof *semaphore, LOCKYARD_HERE);
}
int __wrap_sem_post(sem_t* semaphore) {
  using namespace lockyard::plain;
  const auto where = LOCKYARD_HERE;
  worker::mine().loop().act();
  const lockyard::model::change one_more{
      .apply = [](std::uint64_t found, std::uint64_t most) { return std::min(found + 1, most); },
      .operand = SEM_VALUE_MAX};
  const std::uint64_t found = now().exchange_by(word_of_system(semaphore, where), one_more,
                                                std::memory_order_release, where);
  return to_result(found < SEM_VALUE_MAX, EOVERFLOW);
}
#define LOCKYARD_TAKES(name, how, reason, ...)                                                   \
  int __wrap_sem_##name(sem_t* semaphore __VA_ARGS__) {                                          \
    return to_result(                                                                            \
        add_when(semaphore, &lockyard::plain::is_positive, ~std::uint64_t{0}, how, LOCKYARD_PC), \
        reason);                                                                                 \
  }
LOCKYARD_TAKES(wait, wait::to_the_end, 0)
LOCKYARD_TAKES(trywait, wait::none, EAGAIN)
LOCKYARD_TAKES(timedwait, wait::limited, ETIMEDOUT, , const std::timespec*)
LOCKYARD_TAKES(clockwait, wait::limited, ETIMEDOUT, , clockid_t, const std::timespec*)
int __wrap_sem_getvalue(sem_t* semaphore, int* value) {
  const auto where = LOCKYARD_HERE;
  const auto word = lockyard::plain::word_of_system(semaphore, where);
  const auto found = lockyard::plain::now().load(word, std::memory_order_relaxed, where);
  lockyard::plain::write_bytes(value, sizeof *value, LOCKYARD_PC);
  *value = static_cast<int>(found);
  return 0;
}

int __wrap_pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* /*how*/,
                                unsigned count) {
  if (count == 0) return EINVAL;
  lockyard::plain::initialise(barrier, sizeof *barrier, 0, LOCKYARD_PC);
  auto& words = *reinterpret_cast<lockyard::plain::barrier_words*>(barrier);
  words = {.arrived = 0, .count = count, .inside = {}};
  return 0;
}
int __wrap_pthread_barrier_destroy(pthread_barrier_t* barrier) {
  return lockyard::plain::end_of_barrier(barrier, LOCKYARD_HERE);
}
int __wrap_pthread_barrier_wait(pthread_barrier_t* barrier) {
  return lockyard::plain::wait_at(barrier, LOCKYARD_HERE);
}
}
// NOLINTEND(bugprone-reserved-identifier)
