// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks a lock, or other code over a world, in all executions that C++20 allows. The checker is
// for tests; no lock and no program needs it. docs/checking.md lists the checker's coverage and
// limits, and examples/my_lock shows a test. Link lockyard::check, which is built with
// -DLOCKYARD_BUILD_CHECK_LIBRARY=ON.

#if !__has_include(<lockyard/model/client.hpp>)
#error \
    "lockyard/check.hpp needs the checker's engine, which this target does not have, so nothing \
can be checked: link lockyard::check, from a lockyard with LOCKYARD_BUILD_CHECK_LIBRARY=ON"
#endif

#include <lockyard/concepts.hpp>
#include <lockyard/model/client.hpp>
#include <lockyard/world/world.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>

namespace lockyard::inline v0::check {

/// The checker's world; satisfies the concept lockyard::world.
using world = model::model;

/// Threads that share objects of the checker's world; docs/checking.md says what they may do.
/// - `threads()`: the number of threads, 1 to max_threads.
/// - `thread(index)`: the code of each thread. The constructor makes shared objects as members.
/// - `finish()`: runs after all threads have ended, and sees all their effects.
/// - `symmetry_class(index)`: optional; the same number for threads that are interchangeable:
///   exchanged, they make the same executions, and no assertion, also in `finish()`, tells them
///   apart.
using client = model::client;

/// Makes a client: called for each execution, by several threads of the checker at once.
using client_maker = model::client_maker;

using model::barriers;
using model::require;
using model::search;
using model::verdict;

inline constexpr unsigned max_threads = model::max_threads - 1;

/// The extent of a check. The first six options describe the threads of exclusion(); a client of
/// the user has its own threads.
struct options {
  unsigned threads = 2;
  unsigned acquisitions = 1;  ///< by each thread
  bool tries = false;         ///< the last thread uses try_lock, and may fail to acquire
  bool timed = false;         ///< the last thread uses try_lock_for, and may fail to acquire
  bool destroys = false;      ///< the last owner destroys the lock after its unlock
  /// The lock treats all threads alike: the search then leaves out executions that are others with
  /// the names of threads exchanged. Precondition: the lock compares addresses for equality only.
  bool symmetric = false;

  std::optional<unsigned> preemptions = std::nullopt;  ///< at most; nothing: any number
  unsigned spurious_wakes = 1;                         ///< at most, in an execution
  unsigned early_timeouts = 2;  ///< at most, while another thread could still run
  unsigned short_spins = 2;     ///< at most, that end at their limit while a thread could still run
  unsigned depth = 400;         ///< steps of an execution, before the checker gives it up
  bool wakes_any = false;       ///< a wake may pick any sleeper; otherwise the first to sleep
  barriers asymmetric = barriers::membarrier;

  search order = search::exhaustive;
  double seconds = 0;  ///< at most; 0: no limit for exhaustive search, 10 for sampling
  std::size_t memory_bytes = std::size_t{1} << 30U;  ///< for the cache of known states
  unsigned workers = 2;                              ///< threads that search
  std::uint64_t seed = 1;                            ///< for sampling
};

/// The result of a check. Streamed, it is a report: verdict, coverage, and for a failure the
/// interleaving, one line for each step, with the string that replays it.
class result {
 public:
  /// Returns true if no execution failed and the search covered all that the options request. If a
  /// limit of time, memory, depth or room ended the search, returns false although nothing failed.
  [[nodiscard]] bool passed() const noexcept;

  /// Returns verdict::inconclusive if nothing failed but the coverage is incomplete.
  [[nodiscard]] verdict kind() const noexcept;

  /// Returns "exhaustive", "preemptions <= n", "bounded: " with the caps that took effect,
  /// "sampled" or "replayed".
  [[nodiscard]] std::string coverage() const;

  /// Returns the failure, or the reason of incomplete coverage; empty if passed().
  [[nodiscard]] const std::string& reason() const noexcept;

  /// Returns the choices of the failing execution, for replay(); empty without a failure.
  [[nodiscard]] const std::string& replay_string() const noexcept { return found_.replay; }

  [[nodiscard]] std::uint64_t executions() const noexcept { return found_.executions; }

  friend std::ostream& operator<<(std::ostream& to, const result& of);

 private:
  friend result explore(const client_maker& make, const options& how);
  friend result replay(const client_maker& make, const std::string& choices, const options& how);
  result(model::found found, const options& how, bool is_replay)
      : found_{std::move(found)}, how_{how}, is_replay_{is_replay} {}

  model::found found_;
  options how_;
  bool is_replay_;
};

/// Effects: runs the client in all executions that the options permit, until one fails.
/// Errors: std::invalid_argument if these options permit no execution. A client with too many
///   threads, or none, fails by verdict::assertion.
/// Threads: several threads may call it at the same time; a client must not call it.
result explore(const client_maker& make, const options& how = {});

/// Effects: runs the one execution of a replay string.
/// Precondition: client, options and build are the same as in the failure; limits of the search
///   (order, seconds, memory_bytes, workers, seed) may differ. If the string does not match, the
///   verdict is not_deterministic.
/// Errors: as explore().
result replay(const client_maker& make, const std::string& choices, const options& how = {});

namespace detail {

/// Throws std::invalid_argument if exclusion() cannot make these threads.
void check_size(const options& how, bool has_try_lock, bool has_try_lock_for);

template <class Lock>
client_maker exclusion_client(const options& how) {
  check_size(how, lockable<Lock>, timed_lockable<Lock>);
  return model::exclusion_of<Lock>(
      {.threads = how.threads,
       .acquisitions = how.acquisitions,
       .tries = how.tries,
       .timed = how.timed,
       .destroys = how.destroys,
       .lock_has = how.symmetric ? model::symmetry::full : model::symmetry::none});
}

}  // namespace detail

/// Effects: explores threads that acquire the lock, change two plain counters, and release the
///   lock. The check fails if two threads are in the critical section at once, if a critical
///   section does not happen before the next critical section, if an update is lost, if no thread
///   can continue, or if a thread accesses the lock after its destruction.
/// Errors: as explore(); std::invalid_argument also for threads or acquisitions out of range, for
///   `tries` with a lock that has no try_lock, for `timed` with a lock that has no try_lock_for,
///   and for both at once.
template <class Lock>
  requires basic_lockable<Lock> && std::default_initializable<Lock>
result exclusion(const options& how = {}) {
  return explore(detail::exclusion_client<Lock>(how), how);
}

/// As exclusion() above, for a lock that is a template over a world: `exclusion<my::basic_lock>()`.
/// Do not pass W; it is a parameter because Clang 16 crashes if the body names the world.
template <template <lockyard::world> class Lock, lockyard::world W = world>
result exclusion(const options& how = {}) {
  return exclusion<Lock<W>>(how);
}

/// Effects: runs the one execution of a replay string that exclusion() printed.
/// Precondition, errors: as replay() of a client, and as exclusion().
template <class Lock>
  requires basic_lockable<Lock> && std::default_initializable<Lock>
result replay(const std::string& choices, const options& how = {}) {
  return replay(detail::exclusion_client<Lock>(how), choices, how);
}

template <template <lockyard::world> class Lock, lockyard::world W = world>
result replay(const std::string& choices, const options& how = {}) {
  return replay<Lock<W>>(choices, how);
}

}  // namespace lockyard::inline v0::check
