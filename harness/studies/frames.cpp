// SPDX-License-Identifier: Apache-2.0

// How often a periodic thread that needs a lock misses its deadline while others use that lock.
// docs/studies/frames.md gives definition and reading.

#include "../frames/frame_log.hpp"
#include "../ownership.hpp"
#include "../rate.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"
#include "../topology.hpp"
#include "../work.hpp"

#include <lockyard/detail/arch.hpp>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <peers/all.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace lockyard::harness {

namespace {

/// The other threads end by themselves this long after they should have been told to.
constexpr double spare_ns = 2e9;
constexpr std::uint64_t operations_between_looks = 64;

ticks monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<ticks>(now.tv_sec) * 1'000'000'000U + static_cast<ticks>(now.tv_nsec);
}

void sleep_until(ticks due_ns) noexcept {
  const timespec due{.tv_sec = static_cast<time_t>(due_ns / 1'000'000'000U),
                     .tv_nsec = static_cast<long>(due_ns % 1'000'000'000U)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr) == EINTR) {
  }
}

/// A file that the other threads write lines to while they hold the lock, as a logger does. It is
/// overwritten from its beginning when it is full, and has no name.
class log_file {
 public:
  explicit log_file(bool is_wanted) {
    if (!is_wanted) return;
    file_.reset(std::tmpfile());
    if (file_ == nullptr) {
      throw condition_error{std::string{"a log cannot be written in /tmp ("} +
                            std::strerror(errno) +
                            "), so nothing was measured; make room there, or choose --set "
                            "others=work"};
    }
  }

  /// Must be called by one thread at a time.
  void write_line() noexcept {
    if (file_ == nullptr) return;
    constexpr std::string_view line =
        "2024-01-01T00:00:00.000000Z thread 1 info: a line of a log, of the usual length ......\n";
    constexpr off_t full = 16 << 20;
    if (pwrite(fileno(file_.get()), line.data(), line.size(), at_) > 0) {
      at_ = at_ < full ? at_ + static_cast<off_t>(line.size()) : 0;
    }
  }

 private:
  struct closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  std::unique_ptr<std::FILE, closer> file_;
  off_t at_ = 0;
};

/// What the threads of a run share.
struct stage {
  void* lock;
  ownership& state;
  log_file& log;
  std::atomic<bool> is_over{false};
  ticks period_ns;
  unsigned locks_per_frame;
  std::uint32_t work_steps;  ///< before each lock of a frame, and after the last
  std::uint32_t hold_steps;

  void end() noexcept {
    // relaxed(hint): a thread that sees it late does some more operations.
    is_over.store(true, std::memory_order_relaxed);
  }
};

using periodic_loop = thread_span(stage& on, loop_limit limit, frame_log& log);
using other_loop = thread_span(stage& on, worker work, unsigned thread, ticks end);

/// Only whole periods count: the last frame is due a period before the end.
template <class Lock>
[[gnu::noinline]] thread_span periodic_loop_of(stage& on, loop_limit limit, frame_log& log) {
  Lock& lock = *static_cast<Lock*>(on.lock);
  thread_span span{.first = clock::now()};
  const ticks start_ns = monotonic_ns();
  const auto length_ns = static_cast<ticks>(clock::ns(elapsed(span.first, limit.end)));
  for (ticks due_ns = start_ns + on.period_ns;
       log.periods() < limit.operations && due_ns + on.period_ns <= start_ns + length_ns;) {
    sleep_until(due_ns);
    frame one{.due = due_ns, .woken = monotonic_ns(), .done = 0, .waited = 0};
    ticks waited = 0;
    for (unsigned i = 0; i < on.locks_per_frame; ++i) {
      keep_busy_apart(on.work_steps);
      const ticks called = clock::now_early();
      lock.lock();
      const ticks acquired = clock::now();
      on.state.enter(0);
      keep_busy_apart(on.hold_steps);
      lock.unlock();
      waited += elapsed(called, acquired);
      log.add_wait(acquired, elapsed(called, acquired));
      ++span.operations;
    }
    keep_busy_apart(on.work_steps);
    one.done = monotonic_ns();
    one.waited = static_cast<ticks>(clock::ns(waited));
    due_ns += log.add(one) * on.period_ns;
  }
  span.last = clock::now();
  on.end();
  return span;
}

template <class Lock>
[[gnu::noinline]] thread_span other_loop_of(stage& on, worker work, unsigned thread, ticks end) {
  Lock& lock = *static_cast<Lock*>(on.lock);
  thread_span span{.first = clock::now()};
  // relaxed(hint): as where it is set.
  for (; !on.is_over.load(std::memory_order_relaxed); ++span.operations) {
    if (span.operations % operations_between_looks == 0 && clock::now_early() >= end) break;
    work.stay_away();
    lock.lock();
    on.state.enter(thread);
    work.hold();
    on.log.write_line();
    lock.unlock();
  }
  span.last = clock::now();
  return span;
}

struct frame_loops {
  periodic_loop* periodic;
  other_loop* other;
};

/// Returns the steps that take this long. Only a short time is measured: steps_apart() would repeat
/// a long one many times.
std::uint32_t busy_steps(double length_ns) {
  constexpr double measured_ns = 10'000;
  if (length_ns <= 0) return 0;
  if (length_ns <= measured_ns) return steps_apart(length_ns);
  return static_cast<std::uint32_t>(steps_apart(measured_ns) * (length_ns / measured_ns));
}

/// Splits the thread's own work over the frame: a part before each lock, and one after the last.
std::uint32_t part_steps(const job& of, double period_ns) {
  const double work_ns = period_ns * of.parameter("work_percent") / 100;
  return busy_steps(work_ns / (of.count("locks_per_frame") + 1));
}

/// The threads start alike; the requested schedule is the periodic thread's.
job team_job(const job& of) {
  job team = of;
  team.under = {.of = policy::other, .nice = getpriority(PRIO_PROCESS, 0)};
  return team;
}

outcome measure_frames(const job& of, const subject& lock, const frame_loops& loops) {
  timer_tick::find();
  const double period_ns = 1e9 / of.parameter("rate_hz");
  const work_request lengths{.hold_ns = of.parameter("others_hold_ns"),
                             .gap_ns = of.parameter("others_gap_ns"),
                             .kind = lengths::constant};
  leave_room(of.under, 1, processors_of(place(of.pin, of.threads)));
  const arena<ownership> place{lock, of.seed};
  const workload work{lengths, of.threads, of.seed};
  log_file log{of.choice("others") == "log"};
  stage on{.lock = place.lock(),
           .state = place.data(),
           .log = log,
           .period_ns = static_cast<ticks>(period_ns),
           .locks_per_frame = of.count("locks_per_frame"),
           .work_steps = part_steps(of, period_ns),
           .hold_steps = busy_steps(of.parameter("hold_ns"))};
  const auto frames = std::make_unique<frame_log>(on.period_ns);
  std::optional<std::string> failure;
  refusal_check refusal{lock, place.lock()};
  const team_run run = run_team_on(team_job(of), refusal, [&](unsigned thread, loop_limit limit) {
    if (thread != 0) {
      const ticks end = limit.end + clock::from_ns(spare_ns);
      return loops.other(on, work.of(thread), thread, end);
    }
    try {
      run_under(of.under);
    } catch (const condition_error& error) {
      failure = error.what();
      on.end();
      const ticks now = clock::now();
      return thread_span{.first = now, .last = now};
    }
    return loops.periodic(on, limit, *frames);
  });
  if (failure) throw condition_error{*failure};

  outcome result{.values = run.values(of)};
  result.values["complete"] = frames->periods() >= of.bound.loops.value_or(1);
  frames->report(result.values, result.histograms);
  result.values["period_ns"] = period_ns;
  const std::uint64_t others = run.operations() - run.spans.front().operations;
  result.values["others_operations_per_s"] = static_cast<double>(others) / (run.run_ns() * 1e-9);
  result.values["work_step_ns"] = to_json(work.step_ns());
  result.checks = checks_of(lock, refusal, place.data().counter == run.operations());
  return result;
}

struct frames {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure_frames(of, {traits, operations_on<Lock>},
                          {.periodic = periodic_loop_of<Lock>, .other = other_loop_of<Lock>});
  }
};

}  // namespace

study frames_study() {
  return {.name = "frames",
          .summary = "how often a periodic thread that needs a lock misses its deadline",
          .place = 115,
          .default_run_s = 1,
          .default_budget_s = 6,
          .parameters = {{.name = "rate_hz",
                          .unit = "/s",
                          .summary = "frames per second; a callback of 64 samples at 48 kHz: 750",
                          .least = 1,
                          .most = 20'000,
                          .defaults = {60, 750}},
                         {.name = "work_percent",
                          .unit = "%",
                          .summary = "share of a period for the thread's work without the lock",
                          .least = 0,
                          .most = 95,
                          .defaults = {30}},
                         {.name = "locks_per_frame",
                          .type = parameter_type::count,
                          .summary = "how often the thread takes the lock in a frame",
                          .least = 1,
                          .most = 1000,
                          .defaults = {10}},
                         {.name = "hold_ns",
                          .unit = "ns",
                          .summary = "time that the periodic thread holds the lock each time",
                          .least = 0,
                          .most = 1e7,
                          .defaults = {5'000}},
                         {.name = "others_hold_ns",
                          .unit = "ns",
                          .summary = "time that another thread holds the lock",
                          .least = 0,
                          .most = 1e7,
                          .defaults = {20'000}},
                         {.name = "others_gap_ns",
                          .unit = "ns",
                          .summary = "time without the lock before each call",
                          .least = 0,
                          .most = 1e7,
                          .defaults = {50'000}},
                         {.name = "others",
                          .type = parameter_type::choice,
                          .summary = "what the other threads do while they hold the lock",
                          .choices = {{.name = "work"}, {.name = "log"}}}},
          .default_locks = {"mutex", "fair_mutex", "std::mutex", "ttas_spinlock",
                            "yielding_spinlock", "ticket_spinlock"},
          .cells = cells_of<frames>()};
}

}  // namespace lockyard::harness
