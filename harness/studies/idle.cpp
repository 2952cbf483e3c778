// SPDX-License-Identifier: Apache-2.0

// How long the lock is free although a thread wants it. docs/studies/idle.md gives both
// definitions, the published one and ours, and how to read them.

#include "../loops/idle.hpp"
#include "../gap.hpp"
#include "../histogram.hpp"
#include "../layout.hpp"
#include "../loops/native.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"
#include "../work.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace lockyard::harness {

namespace {

/// The data that the lock protects.
struct handover {
  std::uint64_t counter = 0;
  bool released_once = false;
  unsigned releaser = 0;
  ticks release_began = 0;
};

/// A thread's message to the others, in its own cache line: only the thread writes it, and others
/// read it only after a long gap.
struct alignas(detail::arch::interference_size) announcement {
  std::atomic<ticks> called_at{0};    ///< when it called lock; 0 while it does not wait
  std::atomic<ticks> released_at{0};  ///< when its last unlock had returned
};

/// Gaps of one kind, by one thread or by all.
template <class Histogram>
struct gap_log {
  Histogram lengths;
  ticks longest = 0;
  ticks total = 0;

  void add(ticks length) noexcept {
    lengths.add(length);
    longest = std::max(longest, length);
    total += length;
  }
  template <class Other>
  void merge(const Other& other) noexcept {
    lengths.merge(other.lengths);
    longest = std::max(longest, other.longest);
    total += other.total;
  }
};

template <class Histogram>
struct alignas(detail::arch::interference_size) idle_log {
  gap_log<Histogram> published;   ///< every gap, wanted or not
  gap_log<Histogram> wanted;      ///< free but wanted
  gap_log<Histogram> in_release;  ///< waited for while the releaser was in its unlock
  longest_stalls longest;         ///< wanted gaps; in the published form, published ones
  std::uint64_t inversions = 0;   ///< hand-offs that the two cores' clocks order in reverse

  template <class Other>
  void merge(const Other& other) noexcept {
    published.merge(other.published);
    wanted.merge(other.wanted);
    in_release.merge(other.in_release);
    longest.merge(other.longest);
    inversions += other.inversions;
  }
};
using thread_log = idle_log<histogram>;
using merged_log = idle_log<merged_histogram>;

/// What all threads of a run share besides the lock.
struct stage {
  handover& state;
  announcement* lines;
  unsigned threads;
  ticks threshold;
};

/// Returns the earliest call by a thread other than the releaser. The owner asks, so no other
/// thread with a pending call can have acquired since; the owner's own call is still pending.
ticks first_call(const stage& on, unsigned releaser) noexcept {
  ticks first = never;
  for (unsigned thread = 0; thread < on.threads; ++thread) {
    if (thread == releaser) continue;
    // relaxed(hint): a call that is not yet visible came too late to count.
    const ticks called = on.lines[thread].called_at.load(std::memory_order_relaxed);
    if (called != 0) first = std::min(first, called);
  }
  return first;
}

/// Examines a long gap.
[[gnu::noinline]] void look_into(const stage& on, unsigned thread, ticks acquired,
                                 thread_log& log) noexcept {
  const unsigned releaser = on.state.releaser;
  const ticks began = on.state.release_began;
  // relaxed(revalidated): a stamp of an earlier release is older than this release's beginning.
  const ticks released = on.lines[releaser].released_at.load(std::memory_order_relaxed);
  const gap_parts parts =
      parts_of({.release_began = began,
                .released = released >= began ? std::optional{released} : std::nullopt,
                .acquired = acquired,
                .first_call = first_call(on, releaser)});
  if (parts.idle > on.threshold) {
    log.wanted.add(parts.idle);
    log.longest.offer(thread, acquired, parts.idle);
  }
  if (parts.in_release > on.threshold) log.in_release.add(parts.in_release);
}

/// Returns the time since the last release began, and records what both loops keep of it.
ticks gap_until(ticks acquired, const handover& state, thread_log& log) noexcept {
  const ticks gap = elapsed(state.release_began, acquired);
  if (acquired < state.release_began) [[unlikely]]
    ++log.inversions;
  log.published.add(gap);
  return gap;
}

/// What both forms of the loop have in common.
struct idle_contender : loops::native_contender {
  [[nodiscard]] ticks began() const noexcept { return span.first; }
  [[nodiscard]] bool has_turns_left() const noexcept { return span.operations < limit.operations; }
  [[nodiscard]] bool is_before_end(ticks acquired) const noexcept { return acquired < limit.end; }
  void enter() noexcept {
    on.state.released_once = true;
    ++on.state.counter;
  }
  void begin_release(ticks now) noexcept { on.state.release_began = now; }
  void end_release() noexcept { ++span.operations; }

  const stage& on;
  unsigned thread;
  loop_limit limit;
  thread_log& log;
};

/// The published form. It records the gap inside the critical section, as the text's loop does.
struct published_contender : idle_contender {
  static void stay_away() noexcept {}
  static void call() noexcept {}
  [[gnu::always_inline]] void look_back(ticks acquired) noexcept {
    if (!on.state.released_once) return;
    log.longest.offer(thread, acquired, gap_until(acquired, on.state, log));
  }
  static void hold() noexcept {}
};

/// Measures the published gap and the free-but-wanted time of the same hand-offs.
struct honest_contender : idle_contender {
  void stay_away() noexcept { work.stay_away(); }
  void call() noexcept {
    // relaxed(hint): first_call() states the cost of seeing it late.
    mine.called_at.store(read_clock_early(), std::memory_order_relaxed);
  }
  [[gnu::always_inline]] void look_back(ticks acquired) noexcept {
    if (on.state.released_once && gap_until(acquired, on.state, log) > on.threshold) {
      look_into(on, thread, acquired, log);
    }
  }
  void enter() noexcept {
    // relaxed(locked): the next owner of the lock sees it.
    mine.called_at.store(0, std::memory_order_relaxed);
    on.state.releaser = thread;
    idle_contender::enter();
  }
  void hold() noexcept { work.hold(); }
  void end_release() noexcept {
    // relaxed(revalidated): look_into() compares it with release_began.
    mine.released_at.store(read_clock(), std::memory_order_relaxed);
    idle_contender::end_release();
  }

  worker work;
  announcement& mine;
};

using idle_loop = thread_span(void* place, const stage& on, worker work, unsigned thread,
                              loop_limit limit, thread_log& log);

template <class Lock>
[[gnu::noinline]] thread_span published_loop(void* place, const stage& on, worker /*none*/,
                                             unsigned thread, loop_limit limit, thread_log& log) {
  thread_span span{.first = clock::now()};
  published_contender self{{{span}, on, thread, limit, log}};
  loops::measure_gaps(*static_cast<Lock*>(place), self);
  span.last = clock::now();
  return span;
}

template <class Lock>
[[gnu::noinline]] thread_span honest_loop(void* place, const stage& on, worker work,
                                          unsigned thread, loop_limit limit, thread_log& log) {
  thread_span span{.first = clock::now()};
  honest_contender self{{{span}, on, thread, limit, log}, work, on.lines[thread]};
  loops::measure_gaps(*static_cast<Lock*>(place), self);
  span.last = clock::now();
  return span;
}

template <class Log>
void report(outcome& to, const std::string& name, const Log& gaps) {
  to.values[name + "_max_ns"] = clock::ns(gaps.longest);
  to.histograms[name] = gaps.lengths.to_json(clock::ns_per_tick());
}

/// The merged log is too large for a stack.
std::unique_ptr<merged_log> merged(const thread_log* logs, unsigned threads) {
  auto all = std::make_unique<merged_log>();
  for (unsigned thread = 0; thread < threads; ++thread) all->merge(logs[thread]);
  return all;
}

outcome measure(const job& of, const subject& lock, idle_loop loop) {
  const arena<handover> place{lock, of.seed, layout_of(of)};
  const workload work{of.work, of.threads, of.seed};
  const auto logs = std::make_unique<thread_log[]>(of.threads);
  const auto lines = std::make_unique<announcement[]>(of.threads);
  const stage on{.state = place.data(),
                 .lines = lines.get(),
                 .threads = of.threads,
                 .threshold = clock::from_ns(idle_threshold_ns)};
  refusal_check refusal{lock, place.lock()};
  const team_run run = run_team(of, {.before = [&](unsigned) { refusal.probe(); },
                                     .gathered = [&] { refusal.finish(); },
                                     .loop =
                                         [&](unsigned thread, loop_limit limit) {
                                           return loop(place.lock(), on, work.of(thread), thread,
                                                       limit, logs[thread]);
                                         }});
  const auto all = merged(logs.get(), of.threads);
  outcome result{.values = run.values(of)};
  result.values["work_step_ns"] = to_json(work.step_ns());
  result.values["clock_inversions"] = all->inversions;
  report(result, "idle_published", all->published);
  if (!of.as_published) {
    result.values["idle_threshold_ns"] = idle_threshold_ns;
    result.values["idle_wanted_share"] = run.share_of(all->wanted.total);
    result.values["idle_in_release_share"] = run.share_of(all->in_release.total);
    report(result, "idle_wanted", all->wanted);
    report(result, "idle_in_release", all->in_release);
  }
  result.stalls = stalls_to_json(all->longest, run.start());
  result.checks = checks_of(lock, refusal, place.data().counter == run.operations());
  return result;
}

struct idle {
  static constexpr bool measures_variants = true;

  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {traits, operations_on<Lock>},
                   of.as_published ? published_loop<Lock> : honest_loop<Lock>);
  }
};

}  // namespace

study idle_study() {
  return {
      .name = "idle",
      .summary =
          "how long the lock is free although a thread wants it; also by the published definition, "
          "which counts all free time",
      .place = 40,
      .default_run_s = 0.2,
      .default_budget_s = 2,
      .takes = times::hold_and_gap,
      .parameters = {layout_parameter()},
      .published_loops = 16384,
      .published_runs = 1000,
      .cells = cells_of<idle>()};
}

}  // namespace lockyard::harness
