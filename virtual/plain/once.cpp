// SPDX-License-Identifier: Apache-2.0

// What happens once, for a module's code: pthread_once, with which std::call_once is made,
// variables of a function that are initialised when the function is called first; and values that
// each thread has for itself under a key.

#include "wrapped.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <mutex>
#include <utility>

namespace lockyard::plain {

std::uint32_t list_of_keys;

namespace {

enum once_state : std::uint64_t { untouched = 0, running = 1, done = 2 };

bool is_not_running(const void* /*none*/, std::uint64_t value) {
  return value != running;
}

/// libstdc++ hands the callable over in these variables of the calling thread. All threads of an
/// execution are one thread of the system, so each has to keep its own.
struct callable {
  void* object = std::__once_callable;
  void (*call)() = std::__once_call;

  void hand_over() const {
    std::__once_callable = object;
    std::__once_call = call;
  }
};

int run_once(const void* once, void (*run)(), std::source_location where) {
  const callable mine;
  worker::mine().loop().act();
  const location_index word = word_of_system(once, where);
  for (;;) {
    const model::look free{.where = word,
                           .order = std::memory_order_acquire,
                           .predicate = nullptr,
                           .test = &is_not_running};
    const auto seen = now().await(std::span{&free, 1}, std::nullopt, std::nullopt, where);
    if (seen->value == done) return 0;
    std::uint64_t found = untouched;
    if (now().compare_exchange(word, found, running, std::memory_order_acquire,
                               std::memory_order_relaxed, false, where)) {
      break;
    }
  }
  mine.hand_over();
  try {
    run();
  } catch (...) {
    now().store(word, untouched, std::memory_order_release, where);
    throw;
  }
  now().store(word, done, std::memory_order_release, where);
  return 0;
}

/// A variable that is initialised when its function is called first has a guard: a byte that says
/// that it is done, which the compiler's code reads, and one that says that a thread is at it.
location_index guard_byte(const void* guard, std::size_t which, std::source_location where) {
  return worker::mine()
      .memory.word_at(reinterpret_cast<std::uintptr_t>(guard) + which, 1, where)
      .word;
}

constexpr std::size_t is_done = 0;
constexpr std::size_t is_running = 1;

/// Returns true if the caller has to initialise the variable.
bool begin_initialisation(const void* guard, std::source_location where) {
  const location_index done = guard_byte(guard, is_done, where);
  const location_index running = guard_byte(guard, is_running, where);
  for (;;) {
    std::uint64_t found = 0;
    if (now().compare_exchange(running, found, 1, std::memory_order_acquire,
                               std::memory_order_relaxed, false, where)) {
      return true;
    }
    const std::array looks{
        model::look{.where = done,
                    .order = std::memory_order_acquire,
                    .predicate = nullptr,
                    .test = [](const void*, std::uint64_t value) { return value != 0; }},
        model::look{.where = running,
                    .order = std::memory_order_relaxed,
                    .predicate = nullptr,
                    .test = [](const void*, std::uint64_t value) { return value == 0; }}};
    if (now().await(looks, std::nullopt, std::nullopt, where)->look == 0) return false;
  }
}

/// Keys that were made before the execution have numbers of the C library, which are smaller.
constexpr pthread_key_t first_key = 1U << 16U;

/// Which number a key gets, and which destructors a thread runs at its end, depends on what other
/// threads have done to the list before. That orders nothing else.
void use_keys(std::source_location where) {
  const model::change next{.apply = [](std::uint64_t found, std::uint64_t) { return found + 1; },
                           .operand = 0};
  worker::mine().loop().act();
  now().exchange_by(word_of_system(&list_of_keys, where), next, std::memory_order_relaxed, where);
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's.
extern "C" {

using lockyard::plain::is_active;
using lockyard::plain::now;
using lockyard::plain::worker;

int __wrap_pthread_once(pthread_once_t* once, void (*run)()) {
  if (!is_active()) return pthread_once(once, run);
  return lockyard::plain::run_once(once, run, LOCKYARD_HERE);
}

int __wrap_pthread_key_create(pthread_key_t* key, void (*end)(void*)) {
  if (!is_active()) return pthread_key_create(key, end);
  now().note_unordered();  // which number the key gets depends on the order
  auto& keys = worker::mine().keys;
  lockyard::plain::use_keys(LOCKYARD_HERE);
  lockyard::plain::write_bytes(key, sizeof *key, __builtin_return_address(0));
  *key = lockyard::plain::first_key + static_cast<pthread_key_t>(keys.size());
  keys.push_back(end);
  return 0;
}
int __wrap_pthread_key_delete(pthread_key_t key) {
  if (!is_active()) return pthread_key_delete(key);
  now().note_unordered();  // whether a thread that ends finds the key
  lockyard::plain::use_keys(LOCKYARD_HERE);
  const auto number = key - lockyard::plain::first_key;
  if (number < worker::mine().keys.size()) worker::mine().keys[number] = nullptr;
  return 0;
}
int __wrap_pthread_setspecific(pthread_key_t key, const void* value) {
  if (!is_active()) return pthread_setspecific(key, value);
  void*& known = worker::mine().storage[now().self()].values[key];
  if (std::exchange(known, const_cast<void*>(value)) != value) worker::mine().loop().act();
  return 0;
}
void* __wrap_pthread_getspecific(pthread_key_t key) {
  if (!is_active()) return pthread_getspecific(key);
  const auto& values = worker::mine().storage[now().self()].values;
  const auto found = values.find(key);
  return found == values.end() ? nullptr : found->second;
}

int __wrap___cxa_guard_acquire(void* guard) {
  if (!is_active()) return *static_cast<const std::uint8_t*>(guard) == 0 ? 1 : 0;
  return lockyard::plain::begin_initialisation(guard, LOCKYARD_HERE) ? 1 : 0;
}
void __wrap___cxa_guard_release(void* guard) {
  using namespace lockyard::plain;
  if (!is_active()) {
    *static_cast<std::uint8_t*>(guard) = 1;
    return;
  }
  const auto where = LOCKYARD_HERE;
  worker::mine().loop().act();
  now().store(guard_byte(guard, is_done, where), 1, std::memory_order_release, where);
}
void __wrap___cxa_guard_abort(void* guard) {
  using namespace lockyard::plain;
  if (!is_active()) return;
  const auto where = LOCKYARD_HERE;
  worker::mine().loop().act();
  now().store(guard_byte(guard, is_running, where), 0, std::memory_order_release, where);
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace lockyard::plain {

void thread_storage::end_variables() {
  while (!destructors.empty()) {
    const auto [destroy, object] = destructors.back();
    destructors.pop_back();
    destroy(object);
  }
  while (!end_calls.empty()) {
    const end_call last = end_calls.back();
    end_calls.pop_back();
    last.run(last.first, last.second, last.pc);
  }
}

void thread_storage::at_end(const end_call& wanted) {
  worker& mine = worker::mine();
  mine.loop().act();
  mine.storage[now().self()].end_calls.push_back(wanted);
}

void thread_storage::end(const std::vector<void (*)(void*)>& keys) {
  end_variables();
  if (!values.empty()) use_keys({});
  // A destructor may set values again.
  bool has_values = !values.empty();
  for (unsigned turn = 0; has_values && turn < PTHREAD_DESTRUCTOR_ITERATIONS; ++turn) {
    has_values = false;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto value = values.find(first_key + static_cast<pthread_key_t>(i));
      if (value == values.end() || value->second == nullptr || keys[i] == nullptr) continue;
      void* const object = std::exchange(value->second, nullptr);
      keys[i](object);
      has_values = true;
    }
  }
}

}  // namespace lockyard::plain
