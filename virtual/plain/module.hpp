// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a module offers to the checker. A module is the code of a lock, or of a client, that is
// written with plain std::atomic: a shared object whose code was compiled with -fsanitize=thread
// and not linked with ThreadSanitizer's runtime. The checker defines the functions that such code
// calls. This header is compiled as part of the module, so it names nothing of the checker.

#include <concepts>
#include <cstddef>
#include <new>

namespace lockyard::plain {

/// A lock, or a client; the functions of the other kind are null.
struct entry {
  const char* name;
  std::size_t size;
  std::size_t alignment;
  void (*make)(void* at);
  void (*end)(void* at);
  void (*lock)(void* at);
  void (*unlock)(void* at);
  bool (*try_lock)(void* at);  ///< null if the lock has none
  unsigned threads;            ///< of the client
  void (*thread)(void* at, unsigned index);
  void (*finish)(void* at);
};

template <class T>
concept has_try_lock = requires(T& object) {
  { object.try_lock() } -> std::convertible_to<bool>;
};
template <class T>
concept has_finish = requires(T& object) { object.finish(); };

template <class Lock>
consteval entry entry_of_lock(const char* name) {
  static_assert(
      requires(Lock& lock) {
        lock.lock();
        lock.unlock();
      }, "it lacks lock() or unlock()");
  static_assert(std::default_initializable<Lock>, "it has no constructor without arguments");
  entry made{.name = name,
             .size = sizeof(Lock),
             .alignment = alignof(Lock),
             .make = [](void* at) { ::new (at) Lock(); },
             .end = [](void* at) { static_cast<Lock*>(at)->~Lock(); },
             .lock = [](void* at) { static_cast<Lock*>(at)->lock(); },
             .unlock = [](void* at) { static_cast<Lock*>(at)->unlock(); },
             .try_lock = nullptr,
             .threads = 0,
             .thread = nullptr,
             .finish = nullptr};
  if constexpr (has_try_lock<Lock>) {
    made.try_lock = [](void* at) -> bool { return static_cast<Lock*>(at)->try_lock(); };
  }
  return made;
}

template <class Client>
consteval entry entry_of_client(const char* name) {
  static_assert(requires(Client& client) { client.thread(0U); }, "it lacks thread(unsigned index)");
  static_assert(
      requires {
        { Client::threads } -> std::convertible_to<unsigned>;
      }, "it lacks the constant threads");
  entry made{.name = name,
             .size = sizeof(Client),
             .alignment = alignof(Client),
             .make = [](void* at) { ::new (at) Client(); },
             .end = [](void* at) { static_cast<Client*>(at)->~Client(); },
             .lock = nullptr,
             .unlock = nullptr,
             .try_lock = nullptr,
             .threads = Client::threads,
             .thread = [](void* at, unsigned index) { static_cast<Client*>(at)->thread(index); },
             .finish = nullptr};
  if constexpr (has_finish<Client>) {
    made.finish = [](void* at) { static_cast<Client*>(at)->finish(); };
  }
  return made;
}

}  // namespace lockyard::plain

extern "C" {
extern const lockyard::plain::entry lockyard_plain_entries[];
extern const std::size_t lockyard_plain_entry_count;
}
