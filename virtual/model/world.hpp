// SPDX-License-Identifier: Apache-2.0
#pragma once

// The world in which the checker runs a lock: every member is an operation of the current
// execution. The defaulted source locations let a failure name the line of the lock that caused it.

#include "execution.hpp"

#include <lockyard/world/world.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

namespace lockyard::model {

using here = std::source_location;

namespace detail {

template <class T>
std::uint64_t to_word(T value) noexcept {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <class T>
T from_word(std::uint64_t word) noexcept {
  T value{};
  std::memcpy(static_cast<void*>(&value), &word, sizeof value);  // T may have constructors
  return value;
}

/// A call of the checker. At its beginning the execution learns what the caller has in its
/// registers and on its stack; at its end, what the call has left below the caller's stack is
/// cleared.
class call {
 public:
  call() noexcept = default;
  call(const call&) = delete;
  call& operator=(const call&) = delete;
#if LOCKYARD_MODEL_KNOWS_CALLERS
  ~call() { lockyard_model_leave(); }
#else
  ~call() = default;
#endif
  execution* operator->() const noexcept { return to_; }

 private:
#if LOCKYARD_MODEL_KNOWS_CALLERS
  execution* to_ = lockyard_model_enter();
#else
  execution* to_ = execution::current();
#endif
};
inline call now() noexcept {
  return {};
}

/// The same in every process, unlike the addresses of types.
template <class T>
constexpr std::uint64_t name_of_type() noexcept {
  std::uint64_t name = 14695981039346656037U;
  for (const char c : std::string_view{__PRETTY_FUNCTION__}) {
    name = (name ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return name;
}

template <class T>
inline constexpr char type_tag = 0;

/// While process-wide state is made, its words are named after it, not after the first user.
struct naming {
  static inline thread_local std::uint64_t of = 0;
  static std::uint64_t next() noexcept { return of == 0 ? 0 : ++of; }
};

}  // namespace detail

template <class T>
class word {
 public:
  using value_type = T;

  constexpr word(here where = here::current()) noexcept : word{T{}, where} {}
  constexpr word(T initial, here where = here::current()) noexcept {
    if (std::is_constant_evaluated() || execution::current() == nullptr) return;
    index_ = detail::now()->create(detail::to_word(initial), where, detail::naming::next(),
                                   {.address = this, .size = sizeof *this, .type = type()});
  }
  word(const word&) = delete;
  word& operator=(const word&) = delete;
  ~word() {
    if (execution::current() == nullptr) return;
    const here where = here::current();
    detail::now()->destroy(index(where), where);
  }

  T load(std::memory_order order, here where = here::current()) const noexcept {
    return detail::from_word<T>(detail::now()->load(index(where), order, where));
  }
  void store(T value, std::memory_order order, here where = here::current()) noexcept {
    detail::now()->store(index(where), detail::to_word(value), order, where);
  }
  T exchange(T value, std::memory_order order, here where = here::current()) noexcept {
    return by([](std::uint64_t, std::uint64_t operand) { return operand; }, value, order, where);
  }
  T fetch_add(T value, std::memory_order order, here where = here::current()) noexcept {
    return by([](std::uint64_t found, std::uint64_t operand) { return narrow(found + operand); },
              value, order, where);
  }
  T fetch_sub(T value, std::memory_order order, here where = here::current()) noexcept {
    return by([](std::uint64_t found, std::uint64_t operand) { return narrow(found - operand); },
              value, order, where);
  }
  T fetch_or(T value, std::memory_order order, here where = here::current()) noexcept {
    return by([](std::uint64_t found, std::uint64_t operand) { return found | operand; }, value,
              order, where);
  }
  T fetch_and(T value, std::memory_order order, here where = here::current()) noexcept {
    return by([](std::uint64_t found, std::uint64_t operand) { return found & operand; }, value,
              order, where);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure, here where = here::current()) noexcept {
    return compare_exchange(expected, desired, success, failure, true, where);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure, here where = here::current()) noexcept {
    return compare_exchange(expected, desired, success, failure, false, where);
  }

  /// Returns the index of what is here now: the object's memory may belong to another object.
  [[nodiscard]] location_index index(here where) const noexcept {
    return execution::current()->find_word(index_, this, type(), where);
  }
  [[nodiscard]] word_place lies() const noexcept { return {.address = this, .type = type()}; }

 private:
  static const void* type() noexcept { return &detail::type_tag<T>; }
  /// Arithmetic wraps at the width of T.
  static std::uint64_t narrow(std::uint64_t value) noexcept {
    return detail::to_word(detail::from_word<T>(value));
  }
  T by(std::uint64_t (*apply)(std::uint64_t, std::uint64_t), T operand, std::memory_order order,
       here where) noexcept {
    const change how{.apply = apply, .operand = detail::to_word(operand)};
    return detail::from_word<T>(detail::now()->exchange_by(index(where), how, order, where));
  }
  bool compare_exchange(T& expected, T desired, std::memory_order success,
                        std::memory_order failure, bool weak, here where) noexcept {
    std::uint64_t found = detail::to_word(expected);
    const bool done = detail::now()->compare_exchange(index(where), found, detail::to_word(desired),
                                                      success, failure, weak, where);
    if (!done) expected = detail::from_word<T>(found);
    return done;
  }

  // As far apart as the words of other worlds: a lock may use the low bits of an address.
  alignas(T) location_index index_ = 0;
};

/// Plain data: every use is checked for races.
template <class T>
class plain_data {
 public:
  constexpr plain_data(T initial = T{}, here where = here::current()) noexcept : value_{initial} {
    if (std::is_constant_evaluated() || execution::current() == nullptr) return;
    which_ = detail::now()->new_plain(where, detail::naming::of != 0,
                                      {.address = this, .size = sizeof *this, .type = type()},
                                      size_of_value);
  }
  plain_data(const plain_data&) = delete;
  plain_data& operator=(const plain_data&) = delete;
  ~plain_data() {
    if (execution::current() == nullptr) return;
    detail::now()->end_plain(which_, this, type(), here::current());
  }

  T read(here where = here::current()) const noexcept {
    detail::now()->read_plain(which_, this, type(), where);
    return value_;
  }
  void write(T value, here where = here::current()) noexcept {
    detail::now()->write_plain(which_, this, type(), where);
    value_ = value;
#if __has_builtin(__builtin_clear_padding)
    // Equal values look the same (equal_futures.cpp).
    if constexpr (std::is_trivially_copyable_v<T>) __builtin_clear_padding(&value_);
#endif
  }

 private:
  static const void* type() noexcept { return &detail::type_tag<T>; }
  /// An object that owns memory has contents there.
  static constexpr std::optional<std::size_t> size_of_value =
      std::is_trivially_copyable_v<T> ? std::optional{sizeof(T)} : std::nullopt;

  T value_;
  std::size_t which_ = 0;
};

struct model {
  template <class T>
  using atomic = word<T>;
  template <class T>
  using var = plain_data<T>;

  static void fence(std::memory_order order, here where = here::current()) noexcept {
    detail::now()->fence(order, where);
  }
  static void asymmetric_fence_light(here where = here::current()) noexcept {
    detail::now()->light_fence(where);
  }
  static bool asymmetric_fence_heavy(here where = here::current()) noexcept {
    return detail::now()->heavy_fence(where);
  }

  static bool asymmetric_fence_register() noexcept { return detail::now()->barriers_are_there(); }
  struct registered_t {};
  static constexpr registered_t registered{};
  static void asymmetric_fence_light(registered_t /*tag*/, here where = here::current()) noexcept {
    detail::now()->registered_light_fence(where);
  }

  // Waiting

  using time_point = std::chrono::steady_clock::time_point;
  struct deadline {
    std::optional<std::size_t> which;
    bool operator==(const deadline&) const noexcept = default;
  };
  static constexpr deadline never{};
  enum class wait_result : std::uint8_t { woken, changed, timed_out };

  static void pause(here where = here::current()) noexcept { detail::now()->pause(where); }
  static std::uint32_t pauses_in(std::chrono::nanoseconds /*length*/) noexcept { return 1; }
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept {
    return {detail::now()->new_deadline(passes::of_spin)};
  }
  static void yield(here where = here::current()) noexcept { detail::now()->pause(where); }

  template <class Atomic, class Predicate, class Policy>
  static typename Atomic::value_type await(const Atomic& on, Predicate predicate,
                                           std::memory_order order, Policy&& /*policy*/,
                                           here where = here::current()) noexcept {
    const condition wanted{on, predicate, order};
    const std::array looks{look_at(wanted)};
    const auto found = detail::now()->await(looks, std::nullopt, std::nullopt, where);
    return detail::from_word<typename Atomic::value_type>(found->value);
  }

  template <class Atomic, class Predicate, class Policy>
  static std::optional<typename Atomic::value_type> await(const Atomic& on, Predicate predicate,
                                                          std::memory_order order,
                                                          Policy&& /*policy*/, deadline limit,
                                                          here where = here::current()) noexcept {
    const condition wanted{on, predicate, order};
    const std::array looks{look_at(wanted)};
    const auto found = detail::now()->await(looks, limit.which, std::nullopt, where);
    if (!found) return std::nullopt;
    return detail::from_word<typename Atomic::value_type>(found->value);
  }

  template <class Atomic, class Predicate, class Policy>
  static typename Atomic::value_type await_exchange(Atomic& on, typename Atomic::value_type desired,
                                                    Predicate predicate, std::memory_order order,
                                                    Policy&& /*policy*/,
                                                    here where = here::current()) noexcept {
    const condition wanted{on, predicate, order};
    const std::array looks{look_at(wanted)};
    const auto found =
        detail::now()->await(looks, std::nullopt, change::to(detail::to_word(desired)), where);
    return detail::from_word<typename Atomic::value_type>(found->value);
  }

  template <class Policy, class... Atomics, class... Predicates>
  static std::size_t await_any(Policy&& /*policy*/,
                               const condition<Atomics, Predicates>&... conditions) noexcept {
    static_assert(sizeof...(conditions) <= max_looks,
                  "more conditions than the checker has room for");
    const here where = here::current();
    const std::array looks{look_at(conditions)...};
    return detail::now()->await(looks, std::nullopt, std::nullopt, where)->look;
  }

  template <class Policy, class... Atomics, class... Predicates>
  static std::optional<std::size_t> await_any_until(
      Policy&& /*policy*/, deadline limit,
      const condition<Atomics, Predicates>&... conditions) noexcept {
    static_assert(sizeof...(conditions) <= max_looks,
                  "more conditions than the checker has room for");
    const here where = here::current();
    const std::array looks{look_at(conditions)...};
    const auto found = detail::now()->await(looks, limit.which, std::nullopt, where);
    if (!found) return std::nullopt;
    return found->look;
  }

  static wait_result wait(const atomic<std::uint32_t>& on, std::uint32_t expected,
                          deadline limit = never, here where = here::current()) noexcept {
    const futex_wait of{.lies = on.lies(), .expected = expected, .deadline = limit.which};
    return result_of(detail::now()->sleep(of, where));
  }
  static std::uint32_t wake(const atomic<std::uint32_t>& on, std::uint32_t count,
                            here where = here::current()) noexcept {
    const futex_wake of{.address = &on, .count = count};
    return detail::now()->wake(of, where);
  }
  static void wake_each(const void* const* words, std::uint32_t count,
                        here where = here::current()) noexcept {
    for (std::uint32_t i = 0; i < count; ++i) {
      const futex_wake of{.address = words[i], .count = 1};
      detail::now()->wake(of, where);
    }
  }
  static std::optional<std::uint32_t> requeue(const atomic<std::uint32_t>& from,
                                              std::uint32_t expected, std::uint32_t count,
                                              std::uint32_t move, const atomic<std::uint32_t>& to,
                                              here where = here::current()) noexcept {
    return detail::now()->requeue(from.lies(), expected, count, move, to.lies(), where);
  }

  // Priority inheritance

  static std::uint32_t thread_id() noexcept { return detail::now()->pi_id(); }
  static bool is_real_time() noexcept { return false; }
  static bool pi_lock(atomic<std::uint32_t>& on, deadline limit = never,
                      here where = here::current()) noexcept {
    return detail::now()->pi_lock(on.index(where), limit.which, where);
  }
  static void pi_unlock(atomic<std::uint32_t>& on, here where = here::current()) noexcept {
    detail::now()->pi_unlock(on.index(where), where);
  }

  // Environment

  static time_point now(here where = here::current()) noexcept {
    static_assert(sizeof(time_point) == sizeof(std::int64_t));
    time_point& clock = thread_state<time_point>();
    if (detail::now()->time_jumps(where)) clock += std::chrono::hours{1};
    return clock;
  }
  static deadline deadline_after(std::chrono::nanoseconds /*duration*/) noexcept {
    return {detail::now()->new_deadline(passes::early)};
  }
  static deadline deadline_at(const adjustable_limit& /*limit*/,
                              std::chrono::nanoseconds left) noexcept {
    return deadline_after(left);
  }
  static bool passed(deadline limit, here where = here::current()) noexcept {
    return limit.which && detail::now()->has_passed(*limit.which, where);
  }
  static constexpr std::uint32_t slot_count = max_threads;
  static std::uintptr_t thread_key() noexcept { return detail::now()->name_of_self() + 1; }
  static std::uint32_t thread_slot() noexcept { return detail::now()->name_of_self(); }
  /// Threads that follow each other run on different nodes.
  static std::uint32_t numa_node() noexcept { return detail::now()->number_of_self() % 2; }

  template <class T>
  static T& thread_state() noexcept {
    return state<T>(detail::now()->self(), 0);
  }
  template <class T>
  static T& process_state() noexcept {
    return state<T>(max_threads, detail::name_of_type<T>() | 1U << 20U);
  }

  template <class T>
  static const T& process_state_to_look_at() noexcept {
    return process_state<T>();
  }

  static std::uint64_t hash(const void* /*address*/) noexcept { return 0; }
  static constexpr std::size_t table_size = 1;
  template <class State>
  struct at_start {
    template <class... Arguments>
    static void catch_up(Arguments... /*arguments*/) noexcept {}
  };

  /// A lock whose critical section is one step: no other thread runs in between. What other threads
  /// read of it may still be as old as the memory model permits.
  class abstract_lock {
   public:
    void lock(here where = here::current()) noexcept {
      // order[lock]: acquire; pairs [unlock]; the critical section starts after the last one's end.
      await_exchange(held_, true, is_zero, std::memory_order_acquire, wait_policies::busy{}, where);
      detail::now()->undisturbed(true);
    }
    void unlock(here where = here::current()) noexcept {
      // order[unlock]: release; pairs [lock]; publishes the critical section.
      held_.store(false, std::memory_order_release, where);
      detail::now()->undisturbed(false);
    }

   private:
    word<bool> held_{false};
  };
  using unwatched = model;
  template <class Lock>
  using inner_lock = abstract_lock;

  static std::uint32_t random(here where = here::current()) noexcept {
    return detail::now()->random(2, where);
  }

  // Observation

  struct attempt {};
  static constexpr attempt trying{}, sharing{}, trying_to_share{};

  struct acquiring {
    explicit acquiring(const void* /*lock*/, attempt /*kind*/ = {}) noexcept {}
    bool result(bool acquired) noexcept { return acquired; }
  };
  struct releasing {
    explicit releasing(const void* /*lock*/, attempt /*kind*/ = {}) noexcept {}
  };
  struct notifying {
    explicit notifying(const void* /*lock*/) noexcept {}
  };
  struct contended {
    explicit contended(const void* /*lock*/) noexcept {}
    static bool result(bool acquired) noexcept { return acquired; }
  };
  static bool expect_held(const void* /*lock*/, attempt /*kind*/ = {}) noexcept { return false; }
  static bool expect_not_held(const void* /*lock*/) noexcept { return false; }

 private:
  template <class Atomic, class Predicate>
  static look look_at(const condition<Atomic, Predicate>& wanted) noexcept {
    return {.lies = wanted.word.lies(),
            .order = wanted.order,
            .predicate = &wanted.predicate,
            .test = [](const void* predicate, std::uint64_t value) {
              return static_cast<bool>((*static_cast<const Predicate*>(predicate))(
                  detail::from_word<typename Atomic::value_type>(value)));
            }};
  }

  static wait_result result_of(sleep_end how) noexcept {
    switch (how) {
      case sleep_end::woken: return wait_result::woken;
      case sleep_end::changed: return wait_result::changed;
      case sleep_end::timed_out: return wait_result::timed_out;
    }
    return wait_result::woken;
  }

  template <class T>
  static T& state(std::size_t owner, std::uint64_t name) noexcept {
    static constexpr char type = 0;
    static constexpr kind_of_state kind{
        .type = &type,
        .size = sizeof(T),
        .alignment = alignof(T),
        .end = [](void* object) { static_cast<T*>(object)->~T(); },
    };
    void*& object = detail::now()->state_of(kind, owner);
    if (object == nullptr) {
      const std::uint64_t before = std::exchange(detail::naming::of, name);
      // The constructor may ask for other state: the reference may be stale afterwards.
      void* const made = detail::now()->memory_for(kind, owner);
      ::new (made) T{};
      detail::naming::of = before;
      detail::now()->state_of(kind, owner) = made;
      return *static_cast<T*>(made);
    }
    return *static_cast<T*>(object);
  }
};

/// The model with batches of one wake-up, so that a few threads reach the code behind the first
/// batch.
struct model_in_small_batches : model {
  using unwatched = model_in_small_batches;
  static constexpr std::uint32_t wake_batch = 1;
};

static_assert(lockyard::world<model>);

}  // namespace lockyard::model
