// SPDX-License-Identifier: Apache-2.0

// Exceptions of a module's code. The C++ library keeps the exceptions that a thread handles in a
// list of the system's thread, which is one thread for all threads of an execution; so each of them
// gets its own list around the calls that use it.

#include "wrapped.hpp"

#include <cxxabi.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <typeinfo>
#include <utility>

namespace lockyard::plain {

namespace {

/// The library's record as the C++ ABI describes it.
struct handled {
  void* caught;
  unsigned uncaught;
};

handled& of_system() {
  return *reinterpret_cast<handled*>(abi::__cxa_get_globals());
}

thread_storage& my_storage() {
  return worker::mine().storage[now().self()];
}

handled& mine() {
  thread_storage& storage = my_storage();
  static_assert(sizeof storage.exceptions == sizeof(handled));
  return *reinterpret_cast<handled*>(&storage.exceptions);
}

template <class Call>
auto with_own(const Call& call) {
  if (!is_active()) return call();
  of_system() = mine();
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    mine() = std::exchange(of_system(), {});
  } else {
    const auto result = call();
    mine() = std::exchange(of_system(), {});
    return result;
  }
}

}  // namespace

namespace {

/// Whether a handler of all exceptions has caught a call of pthread_exit().
bool is_no_exception() {
  return mine().caught != nullptr && with_own([] { return std::current_exception(); }) == nullptr;
}

/// An exception whose destructor is the module's code.
void note_exception(const std::type_info* type, void (*destroy)(void*)) {
  if (!is_active() || destroy == nullptr || !may_share_exceptions()) return;
  if (is_of_module(reinterpret_cast<std::uintptr_t>(type))) now().note_unseen();
}

}  // namespace

void forget_exceptions() {
  of_system() = {};
}

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's.
extern "C" {

using lockyard::plain::is_active;
using lockyard::plain::with_own;

/// The C++ library gives memory out again that other exceptions have left.
void* __wrap___cxa_allocate_exception(std::size_t bytes) noexcept {
  void* const object = abi::__cxa_allocate_exception(bytes);
  if (is_active()) {
    lockyard::plain::now().note_unordered();  // the memory may be an earlier exception's
    const auto begin = reinterpret_cast<std::uintptr_t>(object);
    lockyard::plain::worker::mine().memory.forget(begin, begin + bytes);
    lockyard::plain::worker::mine().loop().note_hidden_change();
  }
  return object;
}
void __wrap___cxa_throw(void* object, std::type_info* type, void (*destroy)(void*)) {
  lockyard::plain::note_exception(type, destroy);
  if (is_active()) {
    ++lockyard::plain::mine().uncaught;
    lockyard::plain::my_storage().threw = LOCKYARD_PC;
    lockyard::plain::my_storage().threw_type = type;
  }
  abi::__cxa_throw(object, type, destroy);
}
/// How std::make_exception_ptr makes one.
void* __wrap___cxa_init_primary_exception(void* object, std::type_info* type,
                                          void (*destroy)(void*)) noexcept {
  lockyard::plain::note_exception(type, destroy);
  return abi::__cxa_init_primary_exception(object, type, destroy);
}
void __wrap___cxa_rethrow() {
  if (is_active()) {
    using namespace lockyard::plain;
    const bool is_exit = is_no_exception();
    of_system() = mine();
    // The library moves the exception from the handled ones to those that fly, or its count.
    if (is_exit) {
      mine().caught = nullptr;
    } else {
      ++mine().uncaught;
    }
  }
  abi::__cxa_rethrow();
}
void __wrap__ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE(
    const std::exception_ptr& which) {
  if (is_active()) {
    lockyard::plain::now().note_unordered();  // the library counts the owners of an exception
    ++lockyard::plain::mine().uncaught;
  }
  std::rethrow_exception(which);
}
std::exception_ptr __wrap__ZSt17current_exceptionv() noexcept {
  if (is_active()) lockyard::plain::now().note_unordered();
  return with_own([] { return std::current_exception(); });
}
void* __wrap___cxa_begin_catch(void* object) {
  if (is_active()) lockyard::plain::now().note_unordered();
  return with_own([object] { return abi::__cxa_begin_catch(object); });
}
void __wrap___cxa_end_catch() {
  with_own([] { abi::__cxa_end_catch(); });
}
int __wrap__ZSt19uncaught_exceptionsv() {
  return with_own([] { return std::uncaught_exceptions(); });
}
bool __wrap__ZSt18uncaught_exceptionv() {
  return with_own([] { return std::uncaught_exceptions() != 0; });
}
}
// NOLINTEND(bugprone-reserved-identifier)
