// SPDX-License-Identifier: Apache-2.0
#pragma once

// The seam between a lock and the machine. A lock is a template over a world and requests all
// services from the world, so one source runs on the real machine, under a checker, in a simulator,
// and traced. A lock must follow these rules:
//   1. shared state is `atomic<W, T>` or, where the lock itself protects it, `var<W, T>`;
//   2. every loop that waits goes through an await or `W::wait`;
//   3. every clock, random number, thread identity and static object comes from the world;
//   4. lock, try_lock and unlock open with an `acquiring` or `releasing` scope. A recursive lock
//      opens them for the outermost acquisition only, and a lock without an owner never does. If
//      another thread meanwhile changes nodes written inside these scopes, it uses `notifying`.

#include <lockyard/detail/durations.hpp>
#include <lockyard/world/await.hpp>

#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lockyard::inline v0 {

namespace detail {

/// The predicate with which the concepts probe an await.
struct any_value {
  template <class T>
  bool operator()(T /*value*/) const noexcept {
    return true;
  }
};

}  // namespace detail

/// A world's view of a point in time on a clock that may be set. The object outlives the wait.
struct adjustable_limit {
  /// Returns the time until the clock reaches the point at its present rate; zero if it has already
  /// reached the point.
  std::chrono::nanoseconds (*time_left)(const adjustable_limit& self) noexcept;
};

namespace detail {

/// The state with which the concepts probe per-thread and process-wide state.
struct any_state {};

template <class Atomic, class T>
concept atomic_of = requires(Atomic& word, T value, std::memory_order order) {
  requires std::same_as<typename Atomic::value_type, T>;
  requires std::constructible_from<Atomic, T>;
  { word.load(order) } noexcept -> std::same_as<T>;
  { word.store(value, order) } noexcept;
  { word.exchange(value, order) } noexcept -> std::same_as<T>;
  { word.compare_exchange_weak(value, value, order, order) } noexcept -> std::same_as<bool>;
  { word.compare_exchange_strong(value, value, order, order) } noexcept -> std::same_as<bool>;
};

template <class Atomic, class T>
concept atomic_integer_of = requires(Atomic& word, T value, std::memory_order order) {
  requires atomic_of<Atomic, T>;
  { word.fetch_add(value, order) } noexcept -> std::same_as<T>;
  { word.fetch_sub(value, order) } noexcept -> std::same_as<T>;
  { word.fetch_or(value, order) } noexcept -> std::same_as<T>;
  { word.fetch_and(value, order) } noexcept -> std::same_as<T>;
};

template <class W>
concept provides_memory = requires(typename W::template var<int>& plain, std::memory_order order) {
  requires atomic_of<typename W::template atomic<bool>, bool>;
  requires atomic_of<typename W::template atomic<any_state*>, any_state*>;
  requires atomic_integer_of<typename W::template atomic<std::uint8_t>, std::uint8_t>;
  requires atomic_integer_of<typename W::template atomic<std::uint16_t>, std::uint16_t>;
  requires atomic_integer_of<typename W::template atomic<std::uint32_t>, std::uint32_t>;
  requires atomic_integer_of<typename W::template atomic<std::uint64_t>, std::uint64_t>;
  { plain.read() } noexcept -> std::convertible_to<int>;
  { plain.write(1) } noexcept;
  { W::fence(order) } noexcept;
  { W::asymmetric_fence_light() } noexcept;
  { W::asymmetric_fence_heavy() } noexcept -> std::same_as<bool>;
  { W::asymmetric_fence_register() } noexcept -> std::same_as<bool>;
  { W::asymmetric_fence_light(W::registered) } noexcept;
};

template <class W>
concept provides_waiting =
    requires(typename W::template atomic<std::uint32_t>& word, wait_policies::busy policy,
             typename W::deadline deadline, any_value predicate, std::memory_order order) {
      { W::pause() } noexcept;
      { W::pauses_in(std::chrono::nanoseconds{}) } noexcept -> std::same_as<std::uint32_t>;
      { W::spin_limit() } noexcept -> std::same_as<typename W::deadline>;
      { W::spin_limit(std::chrono::nanoseconds{}) } noexcept -> std::same_as<typename W::deadline>;
      { W::yield() } noexcept;
      { W::await(word, predicate, order, policy) } noexcept -> std::same_as<std::uint32_t>;
      {
        W::await(word, predicate, order, policy, deadline)
      } noexcept -> std::same_as<std::optional<std::uint32_t>>;
      {
        W::await_exchange(word, 1U, predicate, order, policy)
      } noexcept -> std::same_as<std::uint32_t>;
      {
        W::await_any(policy, condition{word, predicate, order}, condition{word, predicate, order})
      } noexcept -> std::same_as<std::size_t>;
      {
        W::await_any_until(policy, deadline, condition{word, predicate, order})
      } noexcept -> std::same_as<std::optional<std::size_t>>;
      requires std::same_as<const typename W::deadline, decltype(W::never)>;
      { W::wait(word, 0U) } noexcept -> std::same_as<typename W::wait_result>;
      { W::wait(word, 0U, deadline) } noexcept -> std::same_as<typename W::wait_result>;
      { W::wake(word, 1U) } noexcept -> std::same_as<std::uint32_t>;
      { W::wake_each(static_cast<const void* const*>(nullptr), 0U) } noexcept;
      { W::requeue(word, 0U, 1U, 1U, word) } noexcept -> std::same_as<std::optional<std::uint32_t>>;
    };

template <class W>
concept provides_inheritance =
    requires(typename W::template atomic<std::uint32_t>& word, typename W::deadline deadline) {
      { W::thread_id() } noexcept -> std::same_as<std::uint32_t>;
      { W::is_real_time() } noexcept -> std::same_as<bool>;
      { W::pi_lock(word) } noexcept -> std::same_as<bool>;
      { W::pi_lock(word, deadline) } noexcept -> std::same_as<bool>;
      { W::pi_unlock(word) } noexcept;
    };

template <class W>
concept provides_environment =
    requires(const void* address, typename W::deadline deadline, std::chrono::nanoseconds duration,
             const adjustable_limit& limit) {
      { W::now() } noexcept -> std::same_as<typename W::time_point>;
      { W::deadline_after(duration) } noexcept -> std::same_as<typename W::deadline>;
      { W::deadline_at(limit, duration) } noexcept -> std::same_as<typename W::deadline>;
      { W::passed(deadline) } noexcept -> std::same_as<bool>;
      { W::thread_key() } noexcept -> std::same_as<std::uintptr_t>;
      { W::thread_slot() } noexcept -> std::same_as<std::uint32_t>;
      requires W::slot_count > 0;
      { W::numa_node() } noexcept -> std::same_as<std::uint32_t>;
      { W::template thread_state<any_state>() } noexcept -> std::same_as<any_state&>;
      { W::template process_state<any_state>() } noexcept -> std::same_as<any_state&>;
      { W::hash(address) } noexcept -> std::same_as<std::uint64_t>;
      { W::random() } noexcept -> std::same_as<std::uint32_t>;
      requires std::has_single_bit(W::table_size);
    };

template <class W>
concept provides_observation =
    std::constructible_from<typename W::acquiring, const void*> &&
    std::constructible_from<typename W::acquiring, const void*, decltype(W::trying)> &&
    std::constructible_from<typename W::acquiring, const void*, decltype(W::sharing)> &&
    std::constructible_from<typename W::acquiring, const void*, decltype(W::trying_to_share)> &&
    std::constructible_from<typename W::releasing, const void*> &&
    std::constructible_from<typename W::releasing, const void*, decltype(W::sharing)> &&
    std::constructible_from<typename W::notifying, const void*> &&
    std::constructible_from<typename W::contended, const void*> &&
    requires(typename W::contended& wait, bool acquired) {
      { wait.result(acquired) } noexcept -> std::same_as<bool>;
    } && requires(typename W::acquiring& scope, bool acquired, const void* lock) {
      { scope.result(acquired) } noexcept -> std::same_as<bool>;
      { W::expect_held(lock) } noexcept -> std::same_as<bool>;
      { W::expect_held(lock, W::sharing) } noexcept -> std::same_as<bool>;
      { W::expect_not_held(lock) } noexcept -> std::same_as<bool>;
    };

}  // namespace detail

/// All services of the machine that a lock may use. All members are static.
/// docs/decisions/0001-the-seam.md defines each member and describes its use in other worlds.
///
/// Memory
/// - `atomic<T>`: as `std::atomic<T>`; the order is always written.
/// - `var<T>`: plain data that the lock protects: `read()`, `write(value)`. A race on it is a bug.
/// - `fence(order)`: as `std::atomic_thread_fence`.
/// - `asymmetric_fence_light()`, `asymmetric_fence_heavy()`: a light and a heavy fence together
///   order like two sequentially consistent fences. The light fence is for the side that must be
///   cheap. The heavy fence returns false if it is unavailable this time; the caller must then not
///   rely on it. `asymmetric_fence_register()`: true if light fences may cost nothing from now on;
///   code that has seen true may use `asymmetric_fence_light(registered)`, which costs nothing.
///
/// Waiting
/// - `await(word, predicate, order, policy)`: returns the first value seen that satisfies
///   `predicate`, read with `order`. With a deadline: nothing if it passed first.
/// - `await_any(policy, condition...)`: as `await` over several words; returns the index of a
///   condition that holds (the first in the list if several hold). An abort is one more condition.
///   `await_any_until(policy, deadline, condition...)`: nothing if the deadline passed first.
/// - `await_exchange(word, desired, predicate, order, policy)`: exchanges `desired` into the word
///   until the previous value satisfies `predicate`, and returns that value. Only for words where
///   storing `desired` over a value that does not satisfy `predicate` changes nothing.
/// - `pause()`, `yield()`: for policies. `pauses_in(duration)`: how many pauses take that long.
///   `spin_limit([most])`: the deadline of a spin that begins now, is followed by a sleep, and is
///   not longer than `most`.
/// - `never`: the deadline that does not pass, and the default where a deadline is optional.
///   `wait(word, expected [, deadline])`: sleeps if the word holds `expected`; may return
///   spuriously at any time; gives no ordering. `wake(word, n)`: wakes up to n sleepers of the word
///   and returns their number; uses only the address, so the word may already be destroyed.
///   `wake_each(addresses, n)`: wakes one sleeper of each of n words, as so many calls of `wake` in
///   some order, and in fewer switches.
///   `requeue(from, expected, n, m, to)`: if `from` holds `expected`, wakes up to n sleepers, moves
///   up to m to `to`, and returns their number; nothing if `from` held another value.
///
/// Priority inheritance
/// - A word holds 0, or its owner's `thread_id()` and a bit while threads may wait. Users change
///   the word only from 0 to their own id and back to 0; `pi_lock` and `pi_unlock` do the rest.
/// - `thread_id()`: names this thread among all living threads of the system; never 0.
/// - `is_real_time()`: whether this thread has a real-time policy; a system call.
/// - `pi_lock(word [, deadline])`: acquires the word for this thread; while another thread owns the
///   word, this thread sleeps and lends the owner its priority; an acquire. Returns false, without
///   relevant changes, if the deadline passed first. Fatal if this thread already owns the word, if
///   the owner ended without releasing it, or, without a deadline, if the owner waits for this
///   thread.
/// - `pi_unlock(word)`: releases this thread's word, or hands it off to the first waiter of the
///   highest priority if there is one; a release. Does not access the word once another thread can
///   own it. Fatal if another thread owns the word.
///
/// Environment
/// - `now()` is a point in time for arithmetic; `deadline_after(duration)`, `passed(deadline)`.
///   `deadline_at(limit, left)`: passes when the limit's clock has reached it, which may be sooner
///   or later than `left` says. A world reads the clock again at intervals, also during a sleep.
/// - `thread_key()`: names this thread among all past and present threads of the process, until the
///   thread's very end and in a forked child too; never 0. No later thread gets the same key.
/// - `thread_slot()`: a number below `slot_count` that no other living thread has, or `no_slot`.
/// - `numa_node()`: the number of the NUMA node whose processor runs this thread; a hint, because
///   the thread may move at once.
/// - `thread_state<T>()`: this thread's T; its destructor runs at thread exit, and other objects'
///   destructors may use it afterwards only if T is trivially destructible.
///   `process_state<T>()`: the one T of the process, even if several libraries have this header
///   compiled into them; its destructor never runs. T's `process_traits` say how it is kept.
///   `process_state_to_look_at<T>()` costs less: until `process_state<T>()` has been called in this
///   part of the program, it may be a T of all zero bytes, which must not be written.
/// - `hash(address)`, `random()`. `table_size`: the number of entries, a power of two, of a table
///   that is indexed by hash.
/// - `at_start<State>`: an object of static storage duration. From its construction on, every child
///   of fork calls `State::forget_in_child()`, if it exists, after the handlers of fork that were
///   registered earlier. If such a handler needs the call sooner, `catch_up(arguments...)` makes
///   it, with these arguments.
///
/// Observation
/// - `acquiring{lock}` spans lock(), `acquiring{lock, trying}` spans try_lock(), where `result(b)`
///   records the outcome and returns it; `releasing{lock}` spans unlock(). `sharing` and
///   `trying_to_share` mark shared acquisitions and releases. The scopes get `this`, whose type may
///   name the lock, and keep only the address: the lock may be destroyed before a `releasing` ends.
///   `notifying{condition}` spans a notification of threads that wait between `releasing` and
///   `acquiring`; the notifying thread need not hold the lock. It keeps only the address too.
/// - `contended{lock}` spans the wait of an acquisition that failed at first, in a function that is
///   not inlined into its caller; `result(b)` records the outcome and returns it; default: true.
/// - `expect_held(lock)`, `expect_held(lock, sharing)`, `expect_not_held(lock)`: a world that
///   watches locks reports if the statement is false for the calling thread, and returns true;
///   other worlds return false. They get `this`, as the scopes do.
template <class W>
concept complete_world =
    detail::provides_memory<W> && detail::provides_waiting<W> && detail::provides_inheritance<W> &&
    detail::provides_environment<W> && detail::provides_observation<W>;

/// True for a world that a test asserts to be complete: programs then compile faster, without the
/// probe of every member.
template <class W>
inline constexpr bool is_tested_world = false;

template <class W>
concept world = is_tested_world<W> || complete_world<W>;

/// A world's shared word, and its plain data that a lock protects.
template <class W, class T>
using atomic = typename W::template atomic<T>;
template <class W, class T>
using var = typename W::template var<T>;

/// The result of `thread_slot()` if every slot is taken, or if the thread is past its end.
inline constexpr std::uint32_t no_slot = UINT32_MAX;

}  // namespace lockyard::inline v0
