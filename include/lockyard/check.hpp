// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks a lock, or any other use of a world, in all the executions that C++20 allows it. For
// tests; no lock and no program needs it. docs/checking.md says what it covers and what it cannot
// see, examples/my_lock shows a test. Link lockyard::check, which is built with
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

/// The world in which everything is checked; satisfies the concept lockyard::world.
using world = model::model;

/// Threads that share objects of the checker's world; see docs/checking.md for what they may do.
/// - `threads()`: how many there are, 1 to max_threads.
/// - `thread(index)`: what each does. Shared objects are members, made by the constructor.
/// - `finish()`: after all have ended; sees everything that they did.
using client = model::client;

/// Makes a client: called for each execution, by several threads of the checker at once.
using client_maker = model::client_maker;

using model::barriers;
using model::require;
using model::search;
using model::verdict;

inline constexpr unsigned max_threads = model::max_threads - 1;

/// What to check, and how much of it. The first five describe exclusion's threads; a client of
/// one's own brings its own.
struct options {
  unsigned threads = 2;
  unsigned acquisitions = 1;  ///< by each thread
  bool tries = false;         ///< the last thread uses try_lock, and may go without
  bool timed = false;         ///< the last thread uses try_lock_for, and may go without
  bool destroys = false;      ///< whoever comes last destroys the lock after its unlock

  std::optional<unsigned> preemptions = std::nullopt;  ///< at most; nothing: any number
  unsigned spurious_wakes = 1;                         ///< at most, in an execution
  unsigned early_timeouts = 2;  ///< at most, while somebody else could still go on
  unsigned short_spins = 2;     ///< at most, that end at their limit although somebody could go on
  unsigned depth = 400;         ///< steps of an execution, before it is given up
  bool wakes_any = false;       ///< a wake may pick any sleeper; else the one that came first
  barriers asymmetric = barriers::membarrier;

  search order = search::exhaustive;
  double seconds = 0;  ///< at most; 0: no limit for exhaustive search, 10 for sampling
  std::size_t memory_bytes = std::size_t{1} << 30U;  ///< for the cache of known prefixes
  unsigned workers = 2;                              ///< threads that search
  std::uint64_t seed = 1;                            ///< of sampling
};

/// What came out. Streamed, it is a report: verdict, coverage, and for a failure the interleaving,
/// a line for each step, with the string that replays it.
class result {
 public:
  /// No execution failed, and all was covered that the options asked for. Where a limit of time,
  /// memory, depth or room ended the search, nothing failed and this is still false.
  [[nodiscard]] bool passed() const noexcept;

  /// verdict::inconclusive where nothing failed and not all was covered.
  [[nodiscard]] verdict kind() const noexcept;

  /// "exhaustive", "preemptions <= n", "bounded: " with the caps that took effect, "sampled" or
  /// "replayed".
  [[nodiscard]] std::string coverage() const;

  /// What failed, or why not all was covered; empty if passed().
  [[nodiscard]] const std::string& reason() const noexcept;

  /// The choices of the failing execution, for replay(); empty without a failure.
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

/// Effects: runs the client in all executions that the options leave, until one fails.
/// Errors: std::invalid_argument if no execution can be run with these options. A client with too
///   many threads, or none, fails by verdict::assertion.
/// Threads: may be called by several threads at a time; not from within a client.
result explore(const client_maker& make, const options& how = {});

/// Effects: runs the one execution of a replay string.
/// Precondition: client and options, and the build, are those of the failure; limits of the search
///   (order, seconds, memory_bytes, workers, seed) may differ. Where the string does not fit, the
///   verdict is not_deterministic.
/// Errors: as explore().
result replay(const client_maker& make, const std::string& choices, const options& how = {});

namespace detail {

/// Throws std::invalid_argument if exclusion's threads cannot be had.
void check_shape(const options& how, bool has_try_lock, bool has_try_lock_for);

template <class Lock>
client_maker exclusion_client(const options& how) {
  check_shape(how, lockable<Lock>, timed_lockable<Lock>);
  return model::exclusion_of<Lock>({.threads = how.threads,
                                    .acquisitions = how.acquisitions,
                                    .tries = how.tries,
                                    .timed = how.timed,
                                    .destroys = how.destroys});
}

}  // namespace detail

/// Effects: explores threads that acquire the lock, change two plain counters, and release it. It
///   fails where two are inside at once, where a critical section does not happen before the next
///   one, where an update is lost, where nobody can go on, and where the lock is touched after its
///   destruction.
/// Errors: as explore(); std::invalid_argument also for threads or acquisitions out of range, and
///   for `tries` with a lock that has no try_lock, for `timed` with one that has no try_lock_for,
///   and for both at once.
template <class Lock>
  requires basic_lockable<Lock> && std::default_initializable<Lock>
result exclusion(const options& how = {}) {
  return explore(detail::exclusion_client<Lock>(how), how);
}

/// The same for a lock that is a template over a world, as `exclusion<my::basic_lock>()`. W stays
/// as it is; Clang 16 crashes where the world is named in the body instead.
template <template <lockyard::world> class Lock, lockyard::world W = world>
result exclusion(const options& how = {}) {
  return exclusion<Lock<W>>(how);
}

/// Effects: runs the one execution of a replay string that exclusion() printed.
/// Precondition, errors: as the other replay(), and as exclusion().
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
