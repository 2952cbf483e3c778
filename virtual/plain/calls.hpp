// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a lock that the checker has never seen is called: by the names that locks give their
// functions (call_names.hpp), and with the arguments that these take. Another form of call is one
// more class with `fits`, `lock`, `unlock`, `tries` and `take`.
//
// This header is compiled as part of the module (module.hpp).

#include "call_names.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace lockyard::plain {

/// What the running thread has from one call to the next. It has memory of its own, so that a use
/// by another thread after the lock was given back is a fault.
template <class Object>
class held_by_thread {
 public:
  static void keep(Object* made) { held_ = made; }
  static Object*& get() { return held_; }
  static void drop() { delete get(); }

 private:
  static inline thread_local Object* held_ = nullptr;
};

/// Without arguments.
template <class Names>
struct called_simply {
  static constexpr bool is_numbered = false;
  static constexpr bool has_arguments = false;

  template <class Lock>
  static constexpr bool fits = requires(Lock& on) {
    Names::acquire(on);
    Names::release(on);
  };
  template <class Lock>
  static void lock(Lock& on, unsigned /*thread*/) {
    static_cast<void>(Names::acquire(on));
  }
  template <class Lock>
  static void unlock(Lock& on, unsigned /*thread*/) {
    static_cast<void>(Names::release(on));
  }
  template <class Lock, class Attempt>
  static constexpr bool tries = requires(Lock& on) { Attempt::call(on); };
  template <class Attempt, class Lock>
  static bool take(Lock& on, unsigned /*thread*/) {
    return Attempt::call(on);
  }
};

template <class Type>
concept is_number = std::integral<Type> && !std::same_as<Type, bool>;

/// With the number of the thread.
template <class Names>
struct called_with_number {
  static constexpr bool is_numbered = true;
  static constexpr bool has_arguments = true;

  template <class Lock>
  static constexpr bool fits = requires(Lock& on, unsigned thread) {
    requires is_number<std::remove_cvref_t<decltype(Names::template argument_of<Lock>())>>;
    Names::acquire(on, thread);
    Names::release(on, thread);
  };
  template <class Lock>
  static void lock(Lock& on, unsigned thread) {
    static_cast<void>(Names::acquire(on, thread));
  }
  template <class Lock>
  static void unlock(Lock& on, unsigned thread) {
    static_cast<void>(Names::release(on, thread));
  }
  template <class Lock, class Attempt>
  static constexpr bool tries = requires(Lock& on, unsigned thread) { Attempt::call(on, thread); };
  template <class Attempt, class Lock>
  static bool take(Lock& on, unsigned thread) {
    return Attempt::call(on, thread);
  }
};

/// With a node of the thread's, by reference or by address. A lock that takes a reference to a
/// pointer may leave another node there, as CLH's does, which the thread uses the next time.
template <class Names>
struct called_with_node {
  static constexpr bool is_numbered = false;
  static constexpr bool has_arguments = true;
  template <class Lock>
  using argument_of = decltype(Names::template argument_of<Lock>());
  template <class Lock>
  using node_of =
      std::remove_cvref_t<std::remove_pointer_t<std::remove_cvref_t<argument_of<Lock>>>>;
  template <class Lock>
  using held = node_of<Lock>;
  template <class Lock>
  static constexpr bool exchanges_nodes =
      std::is_lvalue_reference_v<argument_of<Lock>> &&
      std::same_as<std::remove_reference_t<argument_of<Lock>>, node_of<Lock>*>;
  template <class Lock>
  static auto passed() -> argument_of<Lock> {
    if constexpr (std::is_pointer_v<std::remove_cvref_t<argument_of<Lock>>>) {
      return held_by_thread<node_of<Lock>>::get();
    } else {
      return static_cast<argument_of<Lock>>(*held_by_thread<node_of<Lock>>::get());
    }
  }

  template <class Lock>
  static constexpr bool fits = requires(Lock& on, argument_of<Lock> node) {
    requires std::is_class_v<node_of<Lock>> && std::default_initializable<node_of<Lock>>;
    requires std::is_reference_v<argument_of<Lock>> || std::is_pointer_v<argument_of<Lock>>;
    Names::acquire(on, static_cast<argument_of<Lock>>(node));
    requires requires { Names::release(on, static_cast<argument_of<Lock>>(node)); } ||
                 requires { Names::release(on); };
  };
  template <class Lock>
  static void make() {
    const bool has_one = exchanges_nodes<Lock> && held_by_thread<node_of<Lock>>::get() != nullptr;
    if (!has_one) held_by_thread<node_of<Lock>>::keep(new node_of<Lock>());
  }
  template <class Lock>
  static void drop() {
    if (!exchanges_nodes<Lock>) held_by_thread<node_of<Lock>>::drop();
  }
  template <class Lock>
  static void lock(Lock& on, unsigned /*thread*/) {
    make<Lock>();
    static_cast<void>(Names::acquire(on, passed<Lock>()));
  }
  template <class Lock>
  static void unlock(Lock& on, unsigned /*thread*/) {
    if constexpr (requires { Names::release(on, passed<Lock>()); }) {
      static_cast<void>(Names::release(on, passed<Lock>()));
    } else {
      static_cast<void>(Names::release(on));
    }
    drop<Lock>();
  }
  template <class Lock, class Attempt>
  static constexpr bool tries = requires(Lock& on) { Attempt::call(on, passed<Lock>()); };
  template <class Attempt, class Lock>
  static bool take(Lock& on, unsigned /*thread*/) {
    make<Lock>();
    const bool is_taken = Attempt::call(on, passed<Lock>());
    if (!is_taken) drop<Lock>();
    return is_taken;
  }
};

/// The function that takes the lock returns a token, with which the lock is given back.
template <class Names>
struct called_with_token {
  static constexpr bool is_numbered = false;
  static constexpr bool has_arguments = true;
  template <class Lock>
  using token_of = std::remove_cvref_t<decltype(Names::acquire(std::declval<Lock&>()))>;
  template <class Lock>
  using held = token_of<Lock>;

  template <class Lock>
  static constexpr bool fits = requires(Lock& on, token_of<Lock>& token) {
    Names::release(on, std::move(token));
  } || requires(Lock& on, token_of<Lock>& token) { Names::release(on, token); };
  template <class Lock>
  static void lock(Lock& on, unsigned /*thread*/) {
    held_by_thread<token_of<Lock>>::keep(new token_of<Lock>(Names::acquire(on)));
  }
  template <class Lock>
  static void unlock(Lock& on, unsigned /*thread*/) {
    token_of<Lock>& token = *held_by_thread<token_of<Lock>>::get();
    if constexpr (requires { Names::release(on, std::move(token)); }) {
      static_cast<void>(Names::release(on, std::move(token)));
    } else {
      static_cast<void>(Names::release(on, token));
    }
    held_by_thread<token_of<Lock>>::drop();
  }
  template <class Lock, class Attempt>
  static constexpr bool tries = false;
};

/// The function that takes the lock returns an object that gives it back as it ends.
template <class Names>
struct called_for_guard {
  static constexpr bool is_numbered = false;
  static constexpr bool has_arguments = true;
  template <class Lock>
  using guard_of = decltype(Names::acquire(std::declval<Lock&>()));
  template <class Lock>
  using held = guard_of<Lock>;

  template <class Lock>
  static constexpr bool fits = requires { requires std::is_class_v<guard_of<Lock>>; };
  template <class Lock>
  static void lock(Lock& on, unsigned /*thread*/) {
    held_by_thread<guard_of<Lock>>::keep(new guard_of<Lock>(Names::acquire(on)));
  }
  template <class Lock>
  static void unlock(Lock& /*on*/, unsigned /*thread*/) {
    held_by_thread<guard_of<Lock>>::drop();
  }
  template <class Lock, class Attempt>
  static constexpr bool tries = false;
};

/// The lock has a class `scoped_lock`, as oneTBB's locks have. `With` is whether
/// a writer takes it, if the constructor asks for that.
template <bool... With>
struct called_by_scope {
  static constexpr bool is_numbered = false;
  static constexpr bool has_arguments = true;
  template <class Lock>
  using held = typename Lock::scoped_lock;
  template <class Lock>
  static constexpr bool fits = requires(Lock& on, typename Lock::scoped_lock& scope) {
    requires std::constructible_from<typename Lock::scoped_lock, Lock&, decltype(With)...>;
  };
  template <class Lock>
  static void lock(Lock& on, unsigned /*thread*/) {
    using scope = typename Lock::scoped_lock;
    held_by_thread<scope>::keep(new scope(on, With...));
  }
  template <class Lock>
  static void unlock(Lock& /*on*/, unsigned /*thread*/) {
    held_by_thread<typename Lock::scoped_lock>::drop();
  }
  template <class Lock, class Attempt>
  static constexpr bool tries = requires(Lock& on, typename Lock::scoped_lock& scope) {
    requires std::default_initializable<typename Lock::scoped_lock>;
    { scope.try_acquire(on, With...) } -> std::convertible_to<bool>;
  };
  template <class Attempt, class Lock>
  static bool take(Lock& on, unsigned /*thread*/) {
    using scope = typename Lock::scoped_lock;
    held_by_thread<scope>::keep(new scope());
    const bool is_taken = held_by_thread<scope>::get()->try_acquire(on, With...);
    if (!is_taken) held_by_thread<scope>::drop();
    return is_taken;
  }
};

/// The name of a class without its namespaces, as in debug information.
template <class Class>
consteval auto class_name() {
  std::string_view name{__PRETTY_FUNCTION__};
  constexpr std::string_view before = "Class = ";
  name.remove_prefix(name.find(before) + before.size());
  name = name.substr(0, name.find_first_of(";]"));
  const std::string_view outer = name.substr(0, name.find('<'));
  if (const auto last = outer.rfind("::"); last != name.npos) name.remove_prefix(last + 2);
  std::array<char, 128> text{};
  std::ranges::copy(name.substr(0, text.size() - 1), text.begin());
  return text;
}
template <class Class>
inline constexpr auto name_of_class = class_name<Class>();
template <class Form, class Lock>
consteval const char* held_name() {
  if constexpr (requires { typename Form::template held<Lock>; }) {
    return name_of_class<typename Form::template held<Lock>>.data();
  } else {
    return nullptr;
  }
}

/// The first of some forms that fits the lock; void if none does.
template <class Lock, class... Forms>
struct first_form {
  using type = void;
};
template <class Lock, class Form, class... Others>
  requires(Form::template fits<Lock>)
struct first_form<Lock, Form, Others...> {
  using type = Form;
};
template <class Lock, class Form, class... Others>
struct first_form<Lock, Form, Others...> : first_form<Lock, Others...> {};

struct no_form {
  template <class Lock>
  static constexpr bool fits = false;
};

#define LOCKYARD_FORMS(take, give)                                               \
  called_simply<named::take##_##give>, called_with_number<named::take##_##give>, \
      called_with_node<named::take##_##give>, called_with_token<named::take##_##give>,
#define LOCKYARD_GUARD(take, give) called_for_guard<named::take##_##give>,
template <class Lock>
using form_of_owner =
    typename first_form<Lock, LOCKYARD_OWNERS(LOCKYARD_FORMS) LOCKYARD_OWNERS(LOCKYARD_GUARD)
                                  called_by_scope<>>::type;
template <class Lock>
using form_of_readers =
    typename first_form<Lock, LOCKYARD_READERS(LOCKYARD_FORMS) LOCKYARD_READERS(LOCKYARD_GUARD)
                                  called_by_scope<false>>::type;
#undef LOCKYARD_FORMS
#undef LOCKYARD_GUARD

/// An attempt, as a form that fits where the form of the other calls can make it.
template <class Form, class Attempt>
struct attempted {
  template <class Lock>
  static constexpr bool fits = Form::template tries<Lock, Attempt>;
  template <class Lock>
  static bool take(Lock& on, unsigned thread) {
    return Form::template take<Attempt>(on, thread);
  }
};
#define LOCKYARD_ATTEMPTED(attempt) attempted<Form, named::attempt##_once>,
template <class Lock, class Form>
using attempt_of_owner =
    typename first_form<Lock, LOCKYARD_ATTEMPTS(LOCKYARD_ATTEMPTED) no_form>::type;
template <class Lock, class Form>
using attempt_of_readers =
    typename first_form<Lock, LOCKYARD_ATTEMPTS_OF_READERS(LOCKYARD_ATTEMPTED) no_form>::type;
#undef LOCKYARD_ATTEMPTED
#undef LOCKYARD_OWNERS
#undef LOCKYARD_READERS
#undef LOCKYARD_ATTEMPTS
#undef LOCKYARD_ATTEMPTS_OF_READERS

}  // namespace lockyard::plain
