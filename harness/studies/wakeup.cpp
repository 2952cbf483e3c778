// SPDX-License-Identifier: Apache-2.0

// The time from one thread's publication until others continue, for each way to wait for it, and
// the cost of the wait meanwhile. docs/studies/wakeup.md gives definition and reading.

#include "../energy.hpp"
#include "../study.hpp"
#include "../team.hpp"
#include "../wakeup/latencies.hpp"
#include "../wakeup/ways.hpp"

#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/semaphore.hpp>

#include <sched.h>
#include <time.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <semaphore>

namespace lockyard::harness {

namespace {

using ways::round_number;

struct alignas(detail::arch::interference_size) worker_log {
  std::atomic<round_number> seen{0};
  ticks woke = 0;
  double cpu_ns = 0;
};

/// What publisher and workers share besides the way to wait.
class board {
 public:
  board(unsigned workers, bool shares_processor)
      : workers_{workers}, shares_processor_{shares_processor}, logs_{new worker_log[workers]} {}

  [[nodiscard]] unsigned workers() const noexcept { return workers_; }
  [[nodiscard]] worker_log& log(unsigned worker) noexcept { return logs_[worker]; }

  void await_all(round_number round) noexcept {
    for (unsigned i = 0; i < workers_; ++i) {
      // order[all_seen]: acquire; pairs [seen]; makes the worker's stamp readable.
      while (logs_[i].seen.load(std::memory_order_acquire) != round) let_pass();
    }
  }
  /// Waits until `end`. A worker on the same processor gets it, so that it can go to sleep.
  void idle_until(ticks end) noexcept {
    while (clock::now_early() < end) let_pass();
  }

  // order[end]: release; pairs [ended]; the round that follows is the last.
  void end() noexcept { is_over_.store(true, std::memory_order_release); }
  // order[ended]: acquire; pairs [end]; as above.
  [[nodiscard]] bool is_over() const noexcept { return is_over_.load(std::memory_order_acquire); }

 private:
  void let_pass() const noexcept {
    if (shares_processor_) {
      sched_yield();
    } else {
      detail::arch::pause();
    }
  }

  unsigned workers_;
  bool shares_processor_;
  std::unique_ptr<worker_log[]> logs_;
  std::atomic<bool> is_over_{false};
};

/// The times for which workers are left alone: between half the mean and one and a half times the
/// mean, so that no way to wait falls into step with them.
class gaps {
 public:
  gaps(double mean_ns, std::uint64_t seed)
      : random_{seed},
        length_{clock::from_ns(mean_ns / 2),
                clock::from_ns(mean_ns / 2) + clock::from_ns(mean_ns)} {}
  ticks next() { return length_(random_); }

 private:
  std::minstd_rand random_;
  std::uniform_int_distribution<ticks> length_;
};

/// What the publisher finds.
struct findings {
  latencies wakeup;     ///< from the stamp before the publication
  latencies published;  ///< from the stamp after it
  latencies idle;       ///< how long workers were left alone
};

template <class Way>
[[gnu::noinline]] thread_span publish(Way& way, board& with, loop_limit limit, gaps lengths,
                                      findings& to) {
  thread_span span{.first = clock::now()};
  ticks before = 0;
  ticks after = 0;
  for (round_number round = 1;; ++round) {
    with.await_all(round - 1);
    const ticks all_there = clock::now();
    for (unsigned i = 0; round > 1 && i < with.workers(); ++i) {
      to.wakeup.add(before, with.log(i).woke);
      to.published.add(after, with.log(i).woke);
    }
    const bool is_last = span.operations == limit.operations || all_there >= limit.end;
    if (is_last) with.end();
    way.rearm(round);
    with.idle_until(all_there + lengths.next());
    before = clock::now();
    way.publish(round);
    after = clock::now();
    if (is_last) break;
    to.idle.add(all_there, before);
    ++span.operations;
  }
  span.last = after;
  return span;
}

template <class Way>
[[gnu::noinline]] thread_span work(Way& way, board& with, unsigned worker) {
  worker_log& mine = with.log(worker);
  thread_span span{.first = clock::now()};
  const double cpu_before_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  for (round_number round = 1;; ++round) {
    way.wait(worker, round);
    const ticks woke = clock::now();
    if (with.is_over()) break;
    mine.woke = woke;
    ++span.operations;
    // order[seen]: release; pairs [all_seen]; publishes the stamp.
    mine.seen.store(round, std::memory_order_release);
  }
  mine.cpu_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before_ns;
  span.last = clock::now();
  return span;
}

template <class Way>
outcome measure(const job& of, const lock_traits& /*none*/) {
  const unsigned workers = of.threads - 1;
  const auto way = std::make_unique<Way>(workers);
  const auto found = std::make_unique<findings>();
  board shared{workers, processors_of(place(of.pin, of.threads)) < of.threads};
  const gaps lengths{of.work.gap_ns, of.seed};
  energy_meter energy;
  const team_run run = run_team(of, {.before =
                                         [&](unsigned thread) {
                                           if (thread > 0) way->enter();
                                         },
                                     .gathered = [&] { energy = energy_meter{}; },
                                     .loop =
                                         [&](unsigned thread, loop_limit limit) {
                                           if (thread > 0) return work(*way, shared, thread - 1);
                                           return publish(*way, shared, limit, lengths, *found);
                                         }});
  const auto used_j = energy.used_j();
  double waited_ns = 0;
  for (unsigned i = 0; i < workers; ++i) waited_ns += shared.log(i).cpu_ns;
  outcome result{.values = run.values(of)};
  found->wakeup.report(result.values, "wakeup");
  found->published.report(result.values, "published");
  result.values["idle_ns"] = found->idle.mean() * clock::ns_per_tick();
  result.values["waiting_cpu_share"] = waited_ns / (workers * run.run_ns());
  result.values["energy_j"] = to_json(used_j);
  result.values["power_w"] =
      used_j ? nlohmann::ordered_json(*used_j / (run.run_ns() * 1e-9)) : nullptr;
  result.histograms["wakeup"] = found->wakeup.histogram().to_json(clock::ns_per_tick());
  return result;
}

template <class Way>
cell way(std::string_view name) {
  return {.lock = name, .run = measure<Way>, .traits = {}};
}

}  // namespace

study wakeup_study() {
  using namespace ways;
  return {
      .name = "wakeup",
      .summary =
          "how long a waiting thread takes to continue after another publishes a value, for each "
          "way of waiting, and what the wait costs",
      .place = 160,
      .default_run_s = 0.2,
      .default_budget_s = 1,
      .measures = subjects::ways,
      .takes = times::gap,
      .published_loops = 1000,
      .published_runs = 5,
      .cells = {
          way<looking<nothing>>("spin"),
          way<looking<ways::pause>>("pause"),
          way<looking<yield>>("yield"),
          way<counting<spinning_event_count>>("spinning_event_count"),
          way<futex>("futex"),
          way<counting<event_count>>("event_count"),
          way<manual_event>("manual_reset_event"),
          way<gates<auto_event_gate>>("auto_reset_event"),
          way<atomic_wait>("std::atomic::wait"),
          way<gates<semaphore_gate<semaphore>>>("semaphore"),
          way<gates<semaphore_gate<std::counting_semaphore<>>>>("std::counting_semaphore"),
          way<conditional<mutex, condition_variable>>("condition_variable"),
          way<conditional<std::mutex, std::condition_variable>>("std::condition_variable"),
          way<gates<eventfd_gate>>("eventfd"),
          way<gates<pipe_gate>>("pipe"),
          way<sleeping_finely<50>>("sleep_50us[fine]"),
          way<looking<sleep_for<50>>>("sleep_50us"),
          way<sleeping_finely<1000>>("sleep_1ms[fine]"),
          way<looking<sleep_for<1000>>>("sleep_1ms"),
      }};
}

}  // namespace lockyard::harness
