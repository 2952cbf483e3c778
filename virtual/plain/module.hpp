// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a module offers to the checker. A module is the code of a lock, or of a client, that is
// written with plain std::atomic: a shared object whose code was compiled with -fsanitize=thread
// and not linked with ThreadSanitizer's runtime. The checker defines the functions that such code
// calls. This header is compiled as part of the module, so it names nothing of the checker.

#include "calls.hpp"

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
  void (*make)(void* at, unsigned threads);
  void (*end)(void* at);
  /// By the thread of that number.
  void (*lock)(void* at, unsigned thread);
  void (*unlock)(void* at, unsigned thread);
  bool (*try_lock)(void* at, unsigned thread);      ///< null if the lock has none
  bool (*try_lock_for)(void* at, unsigned thread);  ///< for a short time; null if it has none
  void (*lock_shared)(void* at, unsigned thread);   ///< null unless its readers are checked
  void (*unlock_shared)(void* at, unsigned thread);
  bool (*try_lock_shared)(void* at, unsigned thread);      ///< null unless the lock has one
  bool (*try_lock_shared_for)(void* at, unsigned thread);  ///< the same
  const char* held;  ///< the type of what a thread keeps while it holds the lock; may be null
  /// Perhaps for no more: the lock asks for the number of the thread, and nothing has told it how
  /// many there are.
  bool has_room_for_two;
  unsigned threads;  ///< the client's number of threads
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
concept has_try_lock_shared_for = requires(Lock& object) {
  { object.try_lock_shared_for(shortly) } -> std::convertible_to<bool>;
};
template <class Lock>
concept has_try_lock_shared_until = requires(Lock& object) {
  { object.try_lock_shared_until(std::chrono::steady_clock::now()) } -> std::convertible_to<bool>;
};
template <class Client>
concept has_finish = requires(Client& object) { object.finish(); };

/// An object of that type, without functions to call.
template <class Object>
consteval entry entry_of(const char* name) {
  entry made{};
  made.name = name;
  made.type = name;
  made.size = sizeof(Object);
  made.alignment = alignof(Object);
  if constexpr (std::is_default_constructible_v<Object>) {
    made.make = [](void* at, unsigned /*threads*/) { ::new (at) Object(); };
  } else {
    made.make = [](void* at, unsigned threads) { ::new (at) Object(threads); };
  }
  made.end = [](void* at) { static_cast<Object*>(at)->~Object(); };
  return made;
}

/// Its constructor may ask for the number of threads.
template <class Lock>
concept can_be_made =
    std::is_default_constructible_v<Lock> || std::constructible_from<Lock, unsigned>;

template <class Lock>
consteval entry entry_of_lock(const char* name) {
  using form = form_of_owner<Lock>;
  constexpr bool can_be_called = !std::is_void_v<form>;
  static_assert(can_be_called,
                "it lacks public functions lock() and unlock(), or others that the checker knows");
  static_assert(can_be_made<Lock>, "it lacks a constructor without arguments");
  if constexpr (!can_be_called || !can_be_made<Lock>) {
    return {};
  } else {
    entry made = entry_of<Lock>(name);
    made.held = held_name<form, Lock>();
    made.has_room_for_two = form::is_numbered && std::is_default_constructible_v<Lock>;
    made.lock = [](void* at, unsigned thread) { form::lock(*static_cast<Lock*>(at), thread); };
    made.unlock = [](void* at, unsigned thread) { form::unlock(*static_cast<Lock*>(at), thread); };
    using attempt = attempt_of_owner<Lock, form>;
    if constexpr (!std::is_void_v<attempt>) {
      made.try_lock = [](void* at, unsigned thread) {
        return attempt::take(*static_cast<Lock*>(at), thread);
      };
    }
    // Nothing says where a time limit stands among other arguments.
    if constexpr (form::has_arguments) {
    } else if constexpr (has_try_lock_for<Lock>) {
      made.try_lock_for = [](void* at, unsigned /*thread*/) -> bool {
        return static_cast<Lock*>(at)->try_lock_for(shortly);
      };
    } else if constexpr (has_try_lock_for_number<Lock>) {
      made.try_lock_for = [](void* at, unsigned /*thread*/) -> bool {
        return static_cast<Lock*>(at)->try_lock_for(1U);
      };
    } else if constexpr (has_try_lock_until<Lock>) {
      made.try_lock_for = [](void* at, unsigned /*thread*/) -> bool {
        return static_cast<Lock*>(at)->try_lock_until(std::chrono::steady_clock::now() + shortly);
      };
    }
    return made;
  }
}

/// Has no name if the lock has no readers.
template <class Lock>
consteval entry entry_of_readers(const char* name, const char* type) {
  using form = form_of_readers<Lock>;
  entry made{};
  if constexpr (!std::is_void_v<form>) {
    made = entry_of_lock<Lock>(name);
    made.type = type;
    made.has_room_for_two =
        (made.has_room_for_two || form::is_numbered) && std::is_default_constructible_v<Lock>;
    made.lock_shared = [](void* at, unsigned thread) {
      form::lock(*static_cast<Lock*>(at), thread);
    };
    made.unlock_shared = [](void* at, unsigned thread) {
      form::unlock(*static_cast<Lock*>(at), thread);
    };
    using attempt = attempt_of_readers<Lock, form>;
    if constexpr (!std::is_void_v<attempt>) {
      made.try_lock_shared = [](void* at, unsigned thread) {
        return attempt::take(*static_cast<Lock*>(at), thread);
      };
    }
    if constexpr (form::has_arguments) {
    } else if constexpr (has_try_lock_shared_for<Lock>) {
      made.try_lock_shared_for = [](void* at, unsigned /*thread*/) -> bool {
        return static_cast<Lock*>(at)->try_lock_shared_for(shortly);
      };
    } else if constexpr (has_try_lock_shared_until<Lock>) {
      made.try_lock_shared_for = [](void* at, unsigned /*thread*/) -> bool {
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
  static_assert(
      has_finish<Client> || !requires(Client& client) { client.finally(); },
      "it has finally(), which nothing calls: the function is called finish()");
  entry made = entry_of<Client>(name);
  made.threads = Client::threads;
  made.thread = [](void* at, unsigned index) { static_cast<Client*>(at)->thread(index); };
  if constexpr (has_finish<Client>) {
    made.finish = [](void* at) { static_cast<Client*>(at)->finish(); };
  }
  return made;
}

consteval entry entry_of_program(const char* name, int (*main)(int, char**)) {
  entry made{};
  made.name = name;
  made.type = name;
  made.size = 1;
  made.alignment = 1;
  made.threads = 1;
  made.program = main;
  return made;
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
