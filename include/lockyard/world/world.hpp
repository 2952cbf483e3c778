// SPDX-License-Identifier: Apache-2.0
#pragma once

// The seam between a lock and the machine. A lock is a template over a world and asks everything
// of it, so that one source runs on the real machine, under a checker, in a simulator, and traced.
// The rules for a lock that keep this true:
//   1. shared state is `W::atomic<T>` or, where the lock itself protects it, `W::var<T>`;
//   2. every loop that waits goes through an await or `W::wait`;
//   3. every clock, random number, thread identity and static object comes from the world;
//   4. lock, try_lock and unlock open with an `acquiring` or `releasing` scope; those of a
//   recursive
//      lock for the outermost time only, and those of a lock that has no owner never. What another
//      thread does in between to the nodes that are written inside of them is `notifying`.

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

/// A point in time on a clock that may be set, as a world sees it. It outlives the wait.
struct adjustable_limit {
  /// How long it takes until the clock has reached the point, if it goes on as it goes now; zero if
  /// it has reached it.
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
      { W::wait(word, 0U) } noexcept -> std::same_as<typename W::wait_result>;
      { W::wait(word, 0U, deadline) } noexcept -> std::same_as<typename W::wait_result>;
      { W::wake(word, 1U) } noexcept -> std::same_as<std::uint32_t>;
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
concept provides_surroundings =
    requires(const void* address, typename W::deadline deadline, std::chrono::nanoseconds duration,
             const adjustable_limit& limit) {
      { W::now() } noexcept -> std::same_as<typename W::time_point>;
      { W::deadline_after(duration) } noexcept -> std::same_as<typename W::deadline>;
      { W::deadline_at(limit, duration) } noexcept -> std::same_as<typename W::deadline>;
      { W::passed(deadline) } noexcept -> std::same_as<bool>;
      { W::thread_key() } noexcept -> std::same_as<std::uintptr_t>;
      { W::thread_slot() } noexcept -> std::same_as<std::uint32_t>;
      requires W::slot_count > 0;
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

/// Everything a lock may ask of the machine. All members are static;
/// docs/decisions/0001-the-seam.md gives each one's meaning and what other worlds do with it.
///
/// Memory
/// - `atomic<T>`: as `std::atomic<T>`; the order is always written.
/// - `var<T>`: plain data that the lock protects: `read()`, `write(value)`. A race on it is a bug.
/// - `fence(order)`: as `std::atomic_thread_fence`.
/// - `asymmetric_fence_light()`, `asymmetric_fence_heavy()`: a pair of a light and a heavy one
///   orders like two sequentially consistent fences. The light one is for the side that must be
///   cheap. The heavy one returns false if it could not be had this time; the caller must then not
///   rely on it. `asymmetric_fence_register()`: true if light fences may cost nothing from now on;
///   whoever has learnt of that may use `asymmetric_fence_light(registered)`, which does.
///
/// Waiting
/// - `await(word, predicate, order, policy)`: returns the first value seen that satisfies
///   `predicate`, read with `order`. With a deadline: nothing if it passed first.
/// - `await_any(policy, condition...)`: the same over several words; returns the index of a
/// condition
///   that holds (of the first in the list if several do). An abort is one more condition.
///   `await_any_until(policy, deadline, condition...)`: nothing if the deadline passed first.
/// - `await_exchange(word, desired, predicate, order, policy)`: exchanges `desired` into the word
///   until the value that came out satisfies `predicate`, and returns that one. Only for words
///   where storing `desired` over a value that does not satisfy `predicate` changes nothing.
/// - `pause()`, `yield()`: for policies. `pauses_in(duration)`: how many pauses take that long.
///   `spin_limit([most])`: the deadline of a spin that begins now and is to be followed by a sleep,
///   and is to be no longer than `most`.
/// - `wait(word, expected [, deadline])`: sleeps if the word holds `expected`; may return at any
///   time for no reason; gives no ordering. `wake(word, n)`: wakes up to n sleepers of the word and
///   returns how many; uses the address alone, so the word may be gone by then.
///   `requeue(from, expected, n, m, to)`: if `from` holds `expected`, wakes up to n, moves up to m
///   to `to`, and returns how many that were; nothing if it held something else.
///
/// Priority inheritance
/// - A word holds 0, or its owner's `thread_id()`, and beside it a bit while threads may wait. Its
///   users take it from 0 to their own id and from that to 0, and leave the rest to these two.
/// - `thread_id()`: names this thread among all living ones of the system; never 0.
/// - `is_real_time()`: whether this thread has a real-time policy; a system call.
/// - `pi_lock(word [, deadline])`: acquires the word for this thread, which sleeps while another
///   one has it and lends that one its priority; an acquire. Returns false, and has changed nothing
///   that matters, if the deadline passed first. Fatal where this thread has the word already, its
///   owner ended without releasing it, or, without a deadline, that one waits for this thread.
/// - `pi_unlock(word)`: releases this thread's word, by a hand-over to the first waiter of the
///   highest priority if there is one; a release. Does not touch the word once another thread can
///   own it. Fatal where the word is another thread's.
///
/// Surroundings
/// - `now()` is a point in time for arithmetic; `deadline_after(duration)`, `passed(deadline)`.
///   `deadline_at(limit, left)`: passes when the limit's clock has reached it, which may come
///   sooner or later than `left` says. A world asks the clock again now and then, in a sleep too.
/// - `thread_key()`: names this thread among all threads that the process has had, until the
///   thread's very end and in a forked child too; never 0. No later thread gets the same key.
/// - `thread_slot()`: a number below `slot_count` that no other living thread has, or `no_slot`.
/// - `thread_state<T>()`: this thread's T; its destructor runs at thread exit, and other objects'
///   destructors may ask for it afterwards only if T is trivially destructible.
///   `process_state<T>()`: the one T of the process, however many libraries have this header
///   compiled into them; its destructor never runs. T says how it is kept by `process_traits`.
///   `process_state_to_look_at<T>()` costs less: it may be a T that is all zero bytes, which must
///   not be written, until the other one has been called in this part of the program.
/// - `hash(address)`, `random()`. `table_size`: how many entries, a power of two, a table has that
///   is found by hash.
/// - `at_start<State>`: an object of static storage duration; from its construction on
///   `State::forget_in_child()`, if it exists, is called in every child of fork, after the handlers
///   of fork that were registered before. `catch_up(arguments...)` calls it
///   earlier, with these arguments, if such a handler comes first.
/// - `unwatched`: the world for what locks share among each other; users' tools do not see into it.
/// - `inner_lock<Lock>`: Lock, for use inside of another lock. A checker puts an abstract lock
///   there, because Lock has been checked by itself.
///
/// Observation
/// - `acquiring{lock}` spans lock(), `acquiring{lock, trying}` spans try_lock(), where `result(b)`
///   tells the outcome and returns it; `releasing{lock}` spans unlock(). `sharing` and
///   `trying_to_share` do so for what many threads may hold together. They get `this`,
///   whose type may name the lock, and keep the address alone: the lock may be gone when a
///   `releasing` ends. `notifying{condition}` spans a notification, by a thread that need not
///   hold the lock, of those who wait between the two; it keeps the address alone too.
/// - `contended{lock}` spans the wait of an acquisition that failed at first, in a function that is
///   not inlined into its caller; `result(b)` tells the outcome and returns it, true by default.
/// - `expect_held(lock)`, `expect_held(lock, sharing)`, `expect_not_held(lock)`: a world that
///   watches locks reports where that is not true of the calling thread, and returns true; others
///   return false. They get `this`, as the scopes do.
template <class W>
concept world =
    detail::provides_memory<W> && detail::provides_waiting<W> && detail::provides_inheritance<W> &&
    detail::provides_surroundings<W> && detail::provides_observation<W>;

/// What `thread_slot()` returns when every slot is taken, or when the thread is past its end.
inline constexpr std::uint32_t no_slot = UINT32_MAX;

}  // namespace lockyard::inline v0
