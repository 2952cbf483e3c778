// SPDX-License-Identifier: Apache-2.0

// futex(), and how std::future waits, which is a futex.

#include "futexes.hpp"

#include "wrapped.hpp"

#include <linux/futex.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <string>

namespace lockyard::plain {

namespace {

/// For a message: the name of an operation that code for threads uses, or else the number.
std::string name_of_operation(int operation) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_TRYLOCK_PI: return "FUTEX_TRYLOCK_PI";
    case FUTEX_WAIT_REQUEUE_PI: return "FUTEX_WAIT_REQUEUE_PI";
    case FUTEX_CMP_REQUEUE_PI: return "FUTEX_CMP_REQUEUE_PI";
    case FUTEX_WAKE_OP: return "FUTEX_WAKE_OP";
    default: return std::to_string(operation);
  }
}

/// The sleepers and the wakes that a call may meet.
std::uint32_t bits_of(const futex_call& call) {
  const int command = call.operation & FUTEX_CMD_MASK;
  return command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE_BITSET ? call.third : model::any_bit;
}

/// Linux wakes one thread at least.
std::uint32_t most_woken(std::uint32_t count) {
  return static_cast<std::uint32_t>(std::max(static_cast<std::int32_t>(count), 1));
}

long sleep_on(const futex_call& call, std::source_location where) {
  const model::sleep_end how = now().sleep({.on = word_of_system(call.word, where),
                                            .expected = call.value,
                                            .bits = bits_of(call),
                                            .result_matters = call.result_matters,
                                            .has_limit = call.limit != nullptr,
                                            .has_barrier = true},
                                           where);
  // A loop whose wait fails because the word has another value is a spin.
  if (how != model::sleep_end::changed) worker::mine().loop().act();
  // An error number that no one reads would make two turns of a loop differ.
  if (!call.result_matters) return 0;
  switch (how) {
    case model::sleep_end::changed: return failed(EAGAIN);
    case model::sleep_end::timed_out: return failed(ETIMEDOUT);
    case model::sleep_end::woken: return 0;
  }
  return 0;
}

}  // namespace

long futex(const futex_call& call, std::source_location where) {
  if (bits_of(call) == 0) return failed(EINVAL);
  const int command = call.operation & FUTEX_CMD_MASK;
  if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) return sleep_on(call, where);
  worker::mine().loop().act();
  switch (command) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      return now().wake({.address = call.word,
                         .count = most_woken(call.value),
                         .bits = bits_of(call),
                         .result_matters = call.result_matters},
                        where);
    case FUTEX_CMP_REQUEUE: {
      // The kernel takes the number of threads to move in the place of the time limit.
      const auto move = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(call.limit));
      const auto moved = now().requeue(word_of_system(call.word, where), call.third, call.value,
                                       move, word_of_system(call.second, where), where);
      return moved ? static_cast<long>(*moved) : failed(EAGAIN);
    }
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
      return now().pi_lock(word_of_system(call.word, where), deadline_if(call.limit != nullptr),
                           where)
                 ? 0
                 : failed(ETIMEDOUT);
    case FUTEX_UNLOCK_PI: now().pi_unlock(word_of_system(call.word, where), where); return 0;
    default:
      refuse("the checker does not have the futex operation " + name_of_operation(call.operation),
             "use wait, wake, cmp_requeue, lock_pi or unlock_pi", where);
  }
}

namespace {

/// False if the limit has ended the wait.
bool wait_of_future(const std::uint32_t* word, std::uint32_t value, bool has_limit,
                    std::source_location where) {
  const std::timespec some{};
  const futex_call call{.word = word,
                        .operation = FUTEX_WAIT,
                        .value = value,
                        .limit = has_limit ? &some : nullptr,
                        .second = nullptr,
                        .third = 0};
  return futex(call, where) == 0 || worker::mine().storage[now().self()].error != ETIMEDOUT;
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier, cert-dcl50-cpp): the names are the linker's.
extern "C" {

using lockyard::plain::is_active;

// How std::future waits: these members are in the C++ library.
bool __wrap__ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE(
    void* /*self*/, const std::uint32_t* word, std::uint32_t value, bool has_limit,
    std::chrono::seconds /*limit*/, std::chrono::nanoseconds /*rest*/) {
  return lockyard::plain::wait_of_future(word, value, has_limit, LOCKYARD_HERE);
}
bool __wrap__ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE(
    void* /*self*/, const std::uint32_t* word, std::uint32_t value, bool has_limit,
    std::chrono::seconds /*limit*/, std::chrono::nanoseconds /*rest*/) {
  return lockyard::plain::wait_of_future(word, value, has_limit, LOCKYARD_HERE);
}
void __wrap__ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj(const std::uint32_t* word) {
  if (!is_active()) return;
  lockyard::plain::worker::mine().loop().act();
  lockyard::plain::now().wake({.address = word, .count = ~0U}, LOCKYARD_HERE);
}
}
// NOLINTEND(bugprone-reserved-identifier, cert-dcl50-cpp)
