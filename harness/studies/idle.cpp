// SPDX-License-Identifier: Apache-2.0

// How long the lock is free although somebody wants it. docs/studies/idle.md gives both
// definitions, the published one and ours, and how to read them.

#include "../histogram.hpp"
#include "../team.hpp"
#include "studies.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace lockyard::harness {

namespace {

/// Hand-offs shorter than this are not looked into: reading the other threads' lines costs about as
/// much.
constexpr double threshold_ns = 1000;

/// What the lock protects.
struct handover {
  std::uint64_t counter = 0;
  bool released_once = false;
  unsigned releaser = 0;
  ticks release_began = 0;
};

/// What a thread tells the others, in a cache line of its own: nobody else writes it, and others
/// read it only after a long gap.
struct alignas(detail::arch::interference_size) announcement {
  std::atomic<ticks> called_at{0};    ///< since when it wants the lock; 0 while it does not wait
  std::atomic<ticks> released_at{0};  ///< when its last unlock had returned
};

struct alignas(detail::arch::interference_size) idle_log {
  histogram published;     ///< every gap, wanted or not
  histogram wanted;        ///< gaps past the threshold in which somebody waited
  histogram in_release;    ///< gaps whose releaser had not left its unlock
  longest_stalls longest;  ///< of the honest gaps; of the published ones in that mode
  ticks published_max = 0;
  ticks in_release_max = 0;
  ticks wanted_total = 0;
  ticks in_release_total = 0;
  std::uint64_t not_wanted = 0;  ///< gaps past the threshold in which nobody waited
};

/// What all threads of a run share beside the lock.
struct stage {
  handover& state;
  announcement* lines;
  unsigned threads;
  ticks threshold;
};

/// Whether a thread other than the releaser had called lock before the release ended. Called by the
/// owner, so nobody whose call is announced can have acquired since.
bool was_wanted(const stage& on, unsigned releaser, ticks released) noexcept {
  for (unsigned thread = 0; thread < on.threads; ++thread) {
    // relaxed(hint): a call that is not yet visible is one that came too late to count.
    const ticks called = on.lines[thread].called_at.load(std::memory_order_relaxed);
    if (thread != releaser && called != 0 && called < released) return true;
  }
  return false;
}

/// Sorts a long gap into its class. `called` is when the owner itself asked for the lock.
[[gnu::noinline]] void classify(const stage& on, unsigned thread, ticks called, ticks acquired,
                                idle_log& log) noexcept {
  const unsigned releaser = on.state.releaser;
  // relaxed(revalidated): a stamp of an earlier release is older than release_began.
  const ticks released = on.lines[releaser].released_at.load(std::memory_order_relaxed);
  if (released < on.state.release_began || released > acquired) {
    const ticks gap = acquired - on.state.release_began;
    log.in_release.add(gap);
    log.in_release_max = std::max(log.in_release_max, gap);
    log.in_release_total += gap;
    return;
  }
  const bool own_call_counts = thread != releaser && called < released;
  if (!own_call_counts && !was_wanted(on, releaser, released)) {
    ++log.not_wanted;
    return;
  }
  log.wanted.add(acquired - released);
  log.wanted_total += acquired - released;
  log.longest.offer(thread, acquired, acquired - released);
}

/// The text's loop, and nothing else.
template <class Lock>
[[gnu::noinline]] thread_span published_loop(Lock& lock, const stage& on, unsigned thread,
                                             loop_limit limit, idle_log& log) {
  thread_span span{.first = clock::now()};
  for (std::uint64_t i = 0; i < limit.operations; ++i) {
    lock.lock();
    const ticks acquired = clock::now();
    if (on.state.released_once) {
      const ticks gap = acquired - on.state.release_began;
      log.published.add(gap);
      log.longest.offer(thread, acquired, gap);
    }
    on.state.released_once = true;
    ++on.state.counter;
    on.state.release_began = clock::now();
    lock.unlock();
    ++span.operations;
    if (acquired >= limit.end) break;
  }
  span.last = clock::now();
  return span;
}

/// The published gap and idle-while-wanted of the same hand-offs.
template <class Lock>
[[gnu::noinline]] thread_span honest_loop(Lock& lock, const stage& on, unsigned thread,
                                          loop_limit limit, idle_log& log) {
  announcement& mine = on.lines[thread];
  thread_span span{.first = clock::now()};
  for (std::uint64_t i = 0; i < limit.operations; ++i) {
    const ticks called = clock::now();
    // relaxed(hint): was_wanted() says what a late sight of it costs.
    mine.called_at.store(called, std::memory_order_relaxed);
    lock.lock();
    const ticks acquired = clock::now();
    // relaxed(locked): whoever owns the lock next sees it.
    mine.called_at.store(0, std::memory_order_relaxed);
    if (on.state.released_once) {
      const ticks gap = acquired - on.state.release_began;
      log.published.add(gap);
      if (gap > log.published_max) log.published_max = gap;
      if (gap > on.threshold) classify(on, thread, called, acquired, log);
    }
    on.state.released_once = true;
    on.state.releaser = thread;
    ++on.state.counter;
    on.state.release_began = clock::now();
    lock.unlock();
    // relaxed(revalidated): classify() compares it with release_began.
    mine.released_at.store(clock::now(), std::memory_order_relaxed);
    ++span.operations;
    if (acquired >= limit.end) break;
  }
  span.last = clock::now();
  return span;
}

void merge(idle_log& all, const idle_log& log) {
  all.published.merge(log.published);
  all.wanted.merge(log.wanted);
  all.in_release.merge(log.in_release);
  all.longest.merge(log.longest);
  all.published_max = std::max(all.published_max, log.published_max);
  all.in_release_max = std::max(all.in_release_max, log.in_release_max);
  all.in_release_total += log.in_release_total;
  all.wanted_total += log.wanted_total;
  all.not_wanted += log.not_wanted;
}

double share_of(ticks part, const team_run& run) {
  const ticks whole = std::max<ticks>(run.end() - run.start(), 1);
  return static_cast<double>(part) / static_cast<double>(whole);
}

void report(outcome& to, const idle_log& all, const team_run& run, bool as_published) {
  const ticks longest = all.longest.longest_first()[0].length;
  const double scale = clock::ns_per_tick();
  to.values["idle_published_max_ns"] = clock::ns(as_published ? longest : all.published_max);
  to.histograms["idle_published"] = all.published.to_json(scale);
  to.stalls = stalls_to_json(all.longest, run.start());
  if (as_published) return;
  to.values["idle_threshold_ns"] = threshold_ns;
  to.values["idle_wanted_max_ns"] = clock::ns(longest);
  to.values["idle_wanted_share"] = share_of(all.wanted_total, run);
  to.values["idle_in_release_max_ns"] = clock::ns(all.in_release_max);
  to.values["idle_in_release_share"] = share_of(all.in_release_total, run);
  to.values["idle_not_wanted"] = all.not_wanted;
  to.histograms["idle_wanted"] = all.wanted.to_json(scale);
  to.histograms["idle_in_release"] = all.in_release.to_json(scale);
}

struct idle {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    arena<Lock, handover> place{of.seed};
    const auto logs = std::make_unique<idle_log[]>(of.threads);
    const auto lines = std::make_unique<announcement[]>(of.threads);
    const stage on{.state = place.data(),
                   .lines = lines.get(),
                   .threads = of.threads,
                   .threshold = clock::from_ns(threshold_ns)};
    refusal_check refusal{place.lock()};
    const auto loop = [&](unsigned thread, loop_limit limit) {
      return of.as_published ? published_loop(place.lock(), on, thread, limit, logs[thread])
                             : honest_loop(place.lock(), on, thread, limit, logs[thread]);
    };
    const team_run run = run_team(of, {.before = [&](unsigned) { refusal.probe(); },
                                       .loop = loop,
                                       .gathered = [&] { refusal.finish(); }});
    idle_log all;
    for (unsigned thread = 0; thread < of.threads; ++thread) merge(all, logs[thread]);
    outcome result{.values = run.values(of)};
    report(result, all, run, of.as_published);
    result.checks = checks_of(traits, refusal.passed(), place.data().counter == run.operations());
    return result;
  }
};

}  // namespace

study idle_study() {
  return {.name = "idle",
          .summary =
              "how long the lock is free although somebody wants it, beside the published "
              "definition that does not ask whether anybody does",
          .default_run_s = 0.2,
          .single_threaded = false,
          .published_loops = 16384,
          .published_runs = 1000,
          .cells = cells_of<idle>()};
}

}  // namespace lockyard::harness
