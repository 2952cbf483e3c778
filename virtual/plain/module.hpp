// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a module offers to the checker. A module is the code of a lock, or of a client, that is
// written with plain std::atomic: a shared object whose code was compiled with -fsanitize=thread
// and not linked with ThreadSanitizer's runtime. The checker defines the functions that such code
// calls. This header is compiled as part of the module, so it names nothing of the checker.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <new>

namespace lockyard::plain {

/// A lock, a lock whose readers are checked, a client, or a program; the functions of the other
/// kinds are null.
struct entry {
  const char* name;
  const char* type;  ///< the object's; the debug information has its members
  std::size_t size;
  std::size_t alignment;
  void (*make)(void* at);
  void (*end)(void* at);
  void (*lock)(void* at);
  void (*unlock)(void* at);
  bool (*try_lock)(void* at);      ///< null if the lock has none
  bool (*try_lock_for)(void* at);  ///< for a short time; null if the lock has none
  void (*lock_shared)(void* at);   ///< null unless its readers are checked
  void (*unlock_shared)(void* at);
  bool (*try_lock_shared)(void* at);      ///< null unless the lock has one
  bool (*try_lock_shared_for)(void* at);  ///< the same
  unsigned threads;                       ///< the client's number of threads
  void (*thread)(void* at, unsigned index);
  void (*finish)(void* at);
  int (*program)(int count, char** words);  ///< main()

  [[nodiscard]] bool offers_try() const {
    return try_lock != nullptr || try_lock_shared != nullptr;
  }
  [[nodiscard]] bool offers_timed() const {
    return try_lock_for != nullptr || try_lock_shared_for != nullptr;
  }
};

template <class Lock>
concept has_try_lock = requires(Lock& object) {
  { object.try_lock() } -> std::convertible_to<bool>;
};
/// How long an attempt may take, as code says it: a time, a number of some unit, or when it ends.
inline constexpr std::chrono::milliseconds shortly{1};
template <class Lock>
concept has_try_lock_for = requires(Lock& object) {
  { object.try_lock_for(shortly) } -> std::convertible_to<bool>;
};
template <class Lock>
concept has_try_lock_for_number = requires(Lock& object) {
  { object.try_lock_for(1U) } -> std::convertible_to<bool>;
};
template <class Lock>
concept has_try_lock_until = requires(Lock& object) {
  { object.try_lock_until(std::chrono::steady_clock::now()) } -> std::convertible_to<bool>;
};
template <class Lock>
concept has_try_lock_shared = requires(Lock& object) {
  { object.try_lock_shared() } -> std::convertible_to<bool>;
};
template <class Lock>
concept has_try_lock_shared_for = requires(Lock& object) {
  { object.try_lock_shared_for(shortly) } -> std::convertible_to<bool>;
};
template <class Lock>
concept has_try_lock_shared_until = requires(Lock& object) {
  { object.try_lock_shared_until(std::chrono::steady_clock::now()) } -> std::convertible_to<bool>;
};
template <class Lock>
concept has_readers = requires(Lock& object) {
  object.lock_shared();
  object.unlock_shared();
};
template <class Client>
concept has_finish = requires(Client& object) { object.finish(); };

template <class Lock>
consteval entry entry_of_lock(const char* name) {
  static_assert(
      requires(Lock& lock) {
        lock.lock();
        lock.unlock();
      }, "it lacks lock() or unlock()");
  static_assert(std::default_initializable<Lock>, "it has no constructor without arguments");
  entry made{.name = name,
             .type = name,
             .size = sizeof(Lock),
             .alignment = alignof(Lock),
             .make = [](void* at) { ::new (at) Lock(); },
             .end = [](void* at) { static_cast<Lock*>(at)->~Lock(); },
             .lock = [](void* at) { static_cast<Lock*>(at)->lock(); },
             .unlock = [](void* at) { static_cast<Lock*>(at)->unlock(); },
             .try_lock = nullptr,
             .try_lock_for = nullptr,
             .lock_shared = nullptr,
             .unlock_shared = nullptr,
             .try_lock_shared = nullptr,
             .try_lock_shared_for = nullptr,
             .threads = 0,
             .thread = nullptr,
             .finish = nullptr,
             .program = nullptr};
  if constexpr (has_try_lock<Lock>) {
    made.try_lock = [](void* at) -> bool { return static_cast<Lock*>(at)->try_lock(); };
  }
  if constexpr (has_try_lock_for<Lock>) {
    made.try_lock_for = [](void* at) -> bool {
      return static_cast<Lock*>(at)->try_lock_for(shortly);
    };
  } else if constexpr (has_try_lock_for_number<Lock>) {
    made.try_lock_for = [](void* at) -> bool { return static_cast<Lock*>(at)->try_lock_for(1U); };
  } else if constexpr (has_try_lock_until<Lock>) {
    made.try_lock_for = [](void* at) -> bool {
      return static_cast<Lock*>(at)->try_lock_until(std::chrono::steady_clock::now() + shortly);
    };
  }
  return made;
}

/// Has no name if the lock has no readers.
template <class Lock>
consteval entry entry_of_readers(const char* name, const char* type) {
  entry made{};
  if constexpr (has_readers<Lock>) {
    made = entry_of_lock<Lock>(name);
    made.type = type;
    made.lock_shared = [](void* at) { static_cast<Lock*>(at)->lock_shared(); };
    made.unlock_shared = [](void* at) { static_cast<Lock*>(at)->unlock_shared(); };
    if constexpr (has_try_lock_shared<Lock>) {
      made.try_lock_shared = [](void* at) -> bool {
        return static_cast<Lock*>(at)->try_lock_shared();
      };
    }
    if constexpr (has_try_lock_shared_for<Lock>) {
      made.try_lock_shared_for = [](void* at) -> bool {
        return static_cast<Lock*>(at)->try_lock_shared_for(shortly);
      };
    } else if constexpr (has_try_lock_shared_until<Lock>) {
      made.try_lock_shared_for = [](void* at) -> bool {
        return static_cast<Lock*>(at)->try_lock_shared_until(std::chrono::steady_clock::now() +
                                                             shortly);
      };
    }
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
             .type = name,
             .size = sizeof(Client),
             .alignment = alignof(Client),
             .make = [](void* at) { ::new (at) Client(); },
             .end = [](void* at) { static_cast<Client*>(at)->~Client(); },
             .lock = nullptr,
             .unlock = nullptr,
             .try_lock = nullptr,
             .try_lock_for = nullptr,
             .lock_shared = nullptr,
             .unlock_shared = nullptr,
             .try_lock_shared = nullptr,
             .try_lock_shared_for = nullptr,
             .threads = Client::threads,
             .thread = [](void* at, unsigned index) { static_cast<Client*>(at)->thread(index); },
             .finish = nullptr,
             .program = nullptr};
  if constexpr (has_finish<Client>) {
    made.finish = [](void* at) { static_cast<Client*>(at)->finish(); };
  }
  return made;
}

consteval entry entry_of_program(const char* name, int (*main)(int, char**)) {
  return {.name = name,
          .type = name,
          .size = 1,
          .alignment = 1,
          .make = nullptr,
          .end = nullptr,
          .lock = nullptr,
          .unlock = nullptr,
          .try_lock = nullptr,
          .try_lock_for = nullptr,
          .lock_shared = nullptr,
          .unlock_shared = nullptr,
          .try_lock_shared = nullptr,
          .try_lock_shared_for = nullptr,
          .threads = 1,
          .thread = nullptr,
          .finish = nullptr,
          .program = main};
}

}  // namespace lockyard::plain

extern "C" {
extern const lockyard::plain::entry lockyard_plain_entries[];
extern const std::size_t lockyard_plain_entry_count;

int lockyard_pthread_create(void* thread, const void* attributes, void* (*run)(void*),
                            void* argument, const void* pc);
/// Without this one the linker would take the one that GCC's library has for split stacks.
[[gnu::__no_sanitize__("thread")]] inline int __wrap_pthread_create(void* thread,
                                                                    const void* attributes,
                                                                    void* (*run)(void*),
                                                                    void* argument) {
  return lockyard_pthread_create(thread, attributes, run, argument, __builtin_return_address(0));
}
/// Keeps it, as only the linker knows of its use.
[[gnu::used]] inline const auto lockyard_wrapped_create = &__wrap_pthread_create;
}
