// SPDX-License-Identifier: Apache-2.0
#include "stage.hpp"

#include "../schedule.hpp"
#include "../topology.hpp"

#include <lockyard/trace.hpp>

#include <nlohmann/json.hpp>

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace lockyard::harness {

namespace {

constexpr std::uint32_t stamps_each = std::uint32_t{1} << 18U;
/// Pauses so that each round begins on a machine that has had time for others: real-time threads
/// that filled a processor would be throttled.
constexpr long pause_ns = 2'000'000;
constexpr unsigned seconds_at_most = 300;
/// A round is dropped if anything else took more than this share of its injected stall.
constexpr double most_disturbance = 0.15;
constexpr double least_presence = 0.6;

constexpr schedule ordinary{.of = policy::fifo, .priority = 10};
constexpr schedule urgent{.of = policy::fifo, .priority = 20};

/// A thread that does its part of each round. Only users of the lock are recorded, since the
/// switches of other threads explain nothing.
class actor {
 public:
  template <class Part>
  actor(recording& trace, int cpu, const schedule& under, bool is_recorded, Part part)
      : thread_{[this, &trace, cpu, under, is_recorded, part] {
          try {
            pin_this_thread(cpu);
            run_under(under);
          } catch (const condition_error& error) {
            failure_ = error.what();
          }
          id_ = native::thread_id();
          trace.take_part();
          done_.give();
          for (;;) {
            go_.await();
            if (is_over_.is_set()) break;
            if (is_recorded) recording::record_switches();
            part();
            done_.give();
          }
        }} {
    done_.await();
  }
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;
  ~actor() {
    if (thread_.joinable()) end();
  }

  void go() { go_.give(); }
  void await() { done_.await(); }
  void end() {
    is_over_.set();
    go_.give();
    thread_.join();
  }
  [[nodiscard]] std::uint32_t id() const { return id_; }
  [[nodiscard]] pthread_t handle() { return thread_.native_handle(); }
  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }

 private:
  signal_to go_;
  signal_to done_;
  flag is_over_;
  std::uint32_t id_ = 0;
  std::optional<std::string> failure_;
  std::thread thread_;
};

/// Returns the share of a time in which a thread had no processor, according to the kernel.
double share_away(const thread_history& of, ticks begin, ticks end) {
  ticks away = 0;
  ticks since = 0;
  bool is_away = false;
  for (const trace::event& each : of.events) {
    if (each.kind == trace::event_kind::switch_out) {
      since = each.ticks;
      is_away = true;
    } else if (each.kind == trace::event_kind::switch_in && is_away) {
      is_away = false;
      away += elapsed(std::max(since, begin), std::min(each.ticks, end));
    }
  }
  if (is_away) away += elapsed(std::max(since, begin), end);
  return static_cast<double>(away) / static_cast<double>(std::max<ticks>(elapsed(begin, end), 1));
}

bool is_as(presence wanted, const thread_history& of, const injected& round) {
  const double away = share_away(of, round.begin, round.end);
  switch (wanted) {
    case presence::there: return away <= most_disturbance;
    case presence::away: return away >= least_presence;
    case presence::any: return true;
  }
  return false;
}

bool has_its_length(const injected& round) {
  const double length_ns = clock::ns(elapsed(round.begin, round.end));
  return length_ns >= stage::length_ns / 2 && length_ns <= stage::length_ns * 2;
}

void rest() {
  const timespec pause{.tv_sec = 0, .tv_nsec = pause_ns};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
}

struct performed {
  std::vector<injected> rounds;
  std::uint32_t holder = 0;
  std::uint32_t waiter = 0;
};

performed perform(const scene& of, stage& on, unsigned rounds) {
  performed result;
  actor holder{on.trace, on.holders_cpu, ordinary, true, [&] { of.hold(on); }};
  actor waiter{on.trace, on.waiters_cpu, ordinary, true, [&] { of.wait(on); }};
  const int hogged = of.hogs_waiter ? on.waiters_cpu : on.holders_cpu;
  flag is_over;
  actor hog{on.trace, hogged, urgent, false, [&] {
              for (on.hog.await(); !is_over.is_set(); on.hog.await()) {
                on.is_taken.set();
                stage::burn(stage::length_ns);
                on.is_given.set();
              }
            }};
  actor mover{on.trace, on.holders_cpu, urgent, false, [&] {
                for (on.mover.await(); !is_over.is_set(); on.mover.await()) move_holder(on);
              }};
  for (const actor* each : {&holder, &waiter, &hog, &mover}) {
    if (const auto& failure = each->failure()) throw condition_error{*failure};
  }
  on.holder = holder.handle();
  on.holder_id = static_cast<pid_t>(holder.id());
  result.holder = holder.id();
  result.waiter = waiter.id();
  on.trace.start();
  hog.go();
  mover.go();
  for (unsigned round = 0; round < rounds; ++round) {
    rest();
    on.clear();
    holder.go();
    waiter.go();
    holder.await();
    waiter.await();
    result.rounds.push_back(on.now);
  }
  is_over.set();
  on.hog.give();
  on.mover.give();
  hog.await();
  mover.await();
  for (actor* each : {&holder, &waiter, &hog, &mover}) each->end();
  return result;
}

const scene& scene_named(std::string_view name) {
  const auto found = std::ranges::find(all_scenes(), name, &scene::name);
  if (found != all_scenes().end()) return *found;
  std::string complaint{"--inject "};
  complaint.append(name).append(": no such class of stalls; choose from");
  for (const scene& each : all_scenes()) complaint.append(" ").append(each.name);
  throw std::invalid_argument{complaint};
}

}  // namespace

std::string inject(std::string_view name, unsigned times, const std::string& file) {
  const scene& of = scene_named(name);
  alarm(seconds_at_most);  // no real-time thread outlives this process, whatever happens
  const std::vector<int> cpus = usable_cpus();
  if (cpus.size() < 2) {
    throw condition_error{
        "injecting stalls needs two processors, one for the holder and one for the waiter"};
  }
  const trace::rate rate = trace::detail::measured_rate();
  clock::use(rate.of_counter ? clock_source::tsc : clock_source::monotonic_raw, rate.ns_per_tick);
  recording trace{4, stamps_each, name};
  if (!trace.has_switches()) {
    throw condition_error{
        std::string{"without records of switches it is unknown which rounds were disturbed: "} +
        trace.stamps().why_no_switches.data()};
  }
  if (of.needs_wakeups && !trace.has_wakeups()) {
    throw condition_error{std::string{name} +
                          " needs scheduler tracepoints: " + trace.why_no_wakeups()};
  }
  stage on{trace};
  on.holders_cpu = cpus[0];
  on.waiters_cpu = cpus[1];
  const unsigned rounds = times + times / 4;  // some rounds will be disturbed
  const performed all = perform(of, on, rounds);
  trace.stop();
  trace.save(file);
  std::ofstream truth{file + ".truth.jsonl"};
  unsigned told = 0;
  unsigned discarded = 0;
  for (const injected& each : all.rounds) {
    const bool is_good = each.came_in_time && has_its_length(each) &&
                         is_as(of.holder, trace.histories().at(all.holder), each) &&
                         is_as(of.waiter, trace.histories().at(all.waiter), each);
    if (!is_good) ++discarded;
    if (!is_good || told == times) continue;
    ++told;
    truth << nlohmann::ordered_json{{"class", of.name},
                                    {"begin_ticks", each.begin},
                                    {"end_ticks", each.end},
                                    {"lock", reinterpret_cast<std::uintptr_t>(each.lock)},
                                    {"tid", all.waiter}}
                 .dump()
          << '\n';
  }
  truth.close();
  if (!truth)
    throw std::runtime_error{file + ".truth.jsonl cannot be written; free some space there"};
  return nlohmann::ordered_json{{"class", of.name},
                                {"rounds", rounds},
                                {"injected", told},
                                {"discarded", discarded},
                                {"trace", file},
                                {"truth", file + ".truth.jsonl"},
                                {"has_wakeups", trace.has_wakeups()},
                                {"lost_stamps", trace.lost_events()},
                                {"lost_switches", trace.lost_switches()}}
      .dump();
}

}  // namespace lockyard::harness
