// SPDX-License-Identifier: Apache-2.0

// A library for LD_PRELOAD: the program's plain pthread mutexes become the catalogue's lock of the
// name LOCKYARD_SWAPPED, and its private condition variables the library's. Robust, inheriting,
// protecting and process-shared mutexes stay glibc's, and are counted.

#include "../forwarding.hpp"
#include "../start.hpp"
#include "conditions.hpp"
#include "mutexes.hpp"
#include "selection.hpp"

namespace lockyard::preload {

constinit published_wait_slot lockyard_swapped_waits[published_slots] = {};

namespace {

/// The mutexes that were initialised and not swapped; a static initialiser makes no such mutex.
struct passed_counts {
  std::atomic<std::uint32_t> robust{0}, inheriting{0}, protecting{0}, shared{0};

  void add(int kind) noexcept {
    for (auto [bit, count] : {std::pair{kind_bits::robust, &robust},
                              {kind_bits::inheriting, &inheriting},
                              {kind_bits::protecting, &protecting},
                              {kind_bits::shared, &shared}}) {
      if ((kind & bit) == 0) continue;
      // relaxed(atomicity): a count, read when the process ends.
      count->fetch_add(1, std::memory_order_relaxed);
      return;  // glibc marks robust mutexes as shared, too
    }
  }
  /// In the child of a fork, which has one thread.
  void clear() noexcept {
    for (auto* count : {&robust, &inheriting, &protecting, &shared}) {
      // relaxed(atomicity): as above.
      count->store(0, std::memory_order_relaxed);
    }
  }
};
constinit passed_counts passed{};

/// Whether calls look further than to the mutex's kind: until the constructor has run, in the child
/// of a fork, and if only some mutexes are swapped.
constinit std::atomic<int> further_look{1};
/// Returns whether the mutex is a normal one, and swapped without a further look. One test of both
/// is cheaper than two.
bool is_simple(pthread_mutex_t* m) noexcept {
  // relaxed(hint): the further look decides; the value changes while the process has one thread.
  return (layout_of(m).kind | further_look.load(std::memory_order_relaxed)) == PTHREAD_MUTEX_NORMAL;
}
void end_looks() noexcept {
  // relaxed(hint): as above.
  if (!selection::is_active()) further_look.store(0, std::memory_order_relaxed);
}
void begin_looks() noexcept {
  // relaxed(hint): as above.
  further_look.store(1, std::memory_order_relaxed);
}
static_assert(PTHREAD_MUTEX_NORMAL == 0);

void report_counts() noexcept {
  const auto count = [](const std::atomic<std::uint32_t>& of) {
    // relaxed(atomicity): as in passed_counts.
    return of.load(std::memory_order_relaxed);
  };
  report(
      "{\"event\": \"end\", \"pid\": %d, \"chosen\": %u, \"robust\": %u, \"inheriting\": %u, "
      "\"protecting\": %u, \"shared\": %u}\n",
      static_cast<int>(getpid()), selection::count(), count(passed.robust),
      count(passed.inheriting), count(passed.protecting), count(passed.shared));
}

void begin_child() noexcept {
  const std::int32_t before = known_thread_id;
  begin_looks();
  forget_thread_id();
  forks.add(before, thread_id());
  passed.clear();
}

struct swapping : forwarding {
  static int mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* attributes,
                        const void* /*caller*/) {
    const int error = real::mutex_init(m, attributes);
    if (error != 0) return error;
    if (is_plain(layout_of(m).kind)) {
      selection::initialised(layout_of(m));
    } else {
      passed.add(layout_of(m).kind);
    }
    return error;
  }
  static int mutex_destroy(pthread_mutex_t* m) {
    return is_swapped(m) ? swapped_mutex::destroy(layout_of(m)) : real::mutex_destroy(m);
  }
  static int mutex_lock(pthread_mutex_t* m, const void* /*caller*/) {
    if (!is_simple(m)) [[unlikely]]
      return lock_by_kind(m);
    return swapped_mutex::lock_normal(layout_of(m));
  }
  static int mutex_trylock(pthread_mutex_t* m, const void* /*caller*/) {
    return is_swapped(m) ? swapped_mutex::trylock(layout_of(m)) : real::mutex_trylock(m);
  }
  static int mutex_unlock(pthread_mutex_t* m, const void* /*caller*/) {
    if (!is_simple(m)) [[unlikely]]
      return unlock_by_kind(m);
    return swapped_mutex::unlock_normal(layout_of(m));
  }
  static int mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const timespec* limit,
                             const void* /*caller*/) {
    return is_swapped(m) ? swapped_mutex::clocklock(layout_of(m), clock, limit)
                         : real::mutex_clocklock(m, clock, limit);
  }

  static int condition_destroy(pthread_cond_t* c) {
    return is_shared(c) ? real::condition_destroy(c) : 0;
  }
  static int condition_wait(pthread_cond_t* c, pthread_mutex_t* m, const void* /*caller*/) {
    if (is_shared(c) && !is_swapped(m)) return real::condition_wait(c, m);
    return swapped_condition::wait(c, m, is_swapped(m), CLOCK_MONOTONIC, nullptr);
  }
  static int condition_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                                 const timespec* limit, const void* /*caller*/) {
    if (is_shared(c) && !is_swapped(m)) return real::condition_clockwait(c, m, clock, limit);
    return swapped_condition::wait(c, m, is_swapped(m), clock, limit);
  }
  static int condition_signal(pthread_cond_t* c, const void* /*caller*/) {
    if (is_shared(c)) return real::condition_signal(c);
    swapped_condition::signal(c);
    return 0;
  }
  static int condition_broadcast(pthread_cond_t* c, const void* /*caller*/) {
    if (is_shared(c)) return real::condition_broadcast(c);
    swapped_condition::broadcast(c);
    return 0;
  }

  static int thread_cancel(pthread_t thread) {
    int state = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    const int error = real::thread_cancel(thread);
    if (error == 0) cancellable_wait::of(thread).cancel();
    pthread_setcancelstate(state, nullptr);
    return error;
  }

  static void register_fork_handlers() {
    static constinit std::atomic<bool> is_done{false};
    // relaxed(atomicity): one thread registers them.
    if (!is_done.exchange(true, std::memory_order_relaxed))
      pthread_atfork(nullptr, nullptr, begin_child);
  }
  static void prepare_for_confinement(confinement /*to*/) noexcept { report_counts(); }

 private:
  static bool is_swapped(pthread_mutex_t* m) noexcept {
    return is_plain(layout_of(m).kind) && selection::has(layout_of(m));
  }
  [[gnu::noinline]] static int lock_by_kind(pthread_mutex_t* m) {
    return is_swapped(m) ? swapped_mutex::lock(layout_of(m)) : real::mutex_lock(m);
  }
  [[gnu::noinline]] static int unlock_by_kind(pthread_mutex_t* m) {
    return is_swapped(m) ? swapped_mutex::unlock(layout_of(m)) : real::mutex_unlock(m);
  }
};

[[gnu::constructor]] void begin() {
  start(LOCKYARD_SWAPPED);
  end_looks();
  const char* const condition = std::getenv("LOCKYARD_CONDITION");
  if (condition != nullptr && std::string_view{condition} == "condition_variable_any") {
    swapped_condition::use_any();
  }
  swapping::register_fork_handlers();
}

[[gnu::destructor]] void end() {
  report_counts();
}

}  // namespace

using backend = swapping;

}  // namespace lockyard::preload

#include "../entry.hpp"
