// SPDX-License-Identifier: Apache-2.0

// How soon an idle worker starts a task, and what its waiting costs: bursts of tasks with pauses,
// for lockyard's queue of tasks with each idle policy. docs/studies/workers.md defines the loop.

#include "contenders.hpp"

#include <lockyard/event/task_queue.hpp>

#include <loops/workers.hpp>

#include <array>
#include <memory>

namespace lockyard::simulation {

namespace {

struct scene {
  scene(engine& on, int burst) : pause{on}, end{on}, submitted(static_cast<std::size_t>(burst)) {}

  bed pause, end;
  std::vector<ps> submitted;
  std::vector<const thread*> team;
  int left = 0;  ///< tasks of the burst that have not ended
  ps ended = 0;  ///< the last one of the burst

  harness::merged_histogram starts, submits;
  ps longest_start = 0, in_bursts = 0, in_gaps = 0, used_in_gaps = 0;
  std::uint64_t tasks = 0;
  bool counts = false;  ///< the first burst does not
};

/// A task that a worker runs.
class task {
 public:
  task(scene& in, worker& by, const study_settings& of, std::uint32_t number)
      : in_{in}, by_{by}, of_{of}, submitted_{in.submitted[number]} {}

  static ps read_clock() { return simulation::read_clock(); }
  void begin(ps now) { start_ = now - submitted_; }
  void work() { by_.work(of_.hold); }
  void end(ps now) {
    in_.ended = now;
    if (in_.counts) {
      in_.starts.add(static_cast<std::uint64_t>(start_ / ns));
      in_.longest_start = std::max(in_.longest_start, start_);
      ++in_.tasks;
    }
    if (--in_.left == 0) in_.end.wake(1);
  }

 private:
  scene& in_;
  worker& by_;
  const study_settings& of_;
  ps submitted_, start_ = 0;
};

template <class Queue>
void work(engine& on, scene& in, Queue& tasks, const study_settings& of, std::uint64_t seed) {
  worker mine{on, of, seed};
  while (const auto next = tasks.pop()) {
    task self{in, mine, of, *next};
    harness::loops::run_task(self);
  }
}

ps used_by_all(const engine& on, const scene& in) {
  ps sum = 0;
  for (const thread* each : in.team) sum += on.processor_time(*each);
  return sum;
}

/// The thread that submits.
template <class Queue>
class submitter {
 public:
  submitter(engine& on, scene& in, Queue& to, const study_settings& of, std::uint64_t seed)
      : on_{on}, in_{in}, to_{to}, of_{of}, chance_{seed} {}

  // A burst
  [[nodiscard]] unsigned tasks() const { return static_cast<unsigned>(in_.submitted.size()); }
  static ps read_clock() { return simulation::read_clock(); }
  void submit(unsigned task, ps now) {
    in_.submitted[task] = now;
    if (to_.push(std::uint32_t{task}) != push_result::done) {
      on_.fail("the queue of tasks refused a task");
    }
  }
  void record_submission(ps before, ps after) {
    if (in_.counts) in_.submits.add(static_cast<std::uint64_t>((after - before) / ns));
  }
  void sleep_until_all_have_ended() {
    in_.end.sleep_until([&] { return in_.left == 0; });
  }

  // The run
  void run_burst() {
    in_.left = static_cast<int>(in_.submitted.size());
    harness::loops::submit_burst(*this);
    if (in_.counts) in_.in_bursts += in_.ended - in_.submitted[0];
  }
  void pass_gap() {
    const auto mean = static_cast<double>(of_.gap);
    const ps gap = of_.exponential ? static_cast<ps>(chance_.exponential(mean)) : of_.gap;
    const ps began = on_.now(), used = used_by_all(on_, in_);
    if (gap > 0) in_.pause.sleep_for(gap);
    in_.in_gaps += on_.now() - began, in_.used_in_gaps += used_by_all(on_, in_) - used;
  }
  [[nodiscard]] bool goes_on() const { return on_.now() < of_.duration; }

 private:
  engine& on_;
  scene& in_;
  Queue& to_;
  const study_settings& of_;
  random_source chance_;
};

template <class Queue>
void submit(engine& on, scene& in, Queue& tasks, const study_settings& of, std::uint64_t seed) {
  submitter self{on, in, tasks, of, seed};
  self.run_burst();
  in.counts = true;
  harness::loops::alternate(self);
  on.stop();
}

template <class Idle>
named_values run_pool(engine& on, const study_settings& of) {
  using queue = basic_task_queue<std::uint32_t, Idle, simulated>;
  using slot = queue::slot;
  const auto in_place = std::make_unique<scene>(on, of.burst);  // histograms are large
  scene& in = *in_place;
  const auto capacity = in.submitted.size();
  auto* const slots = static_cast<slot*>(on.memory().allocate(capacity * sizeof(slot), 64));
  std::uninitialized_default_construct_n(slots, capacity);
  queue& tasks = on.memory().make<queue>(std::span{slots, capacity});
  const std::uint64_t seed = on.chance().next();
  in.team = start_threads(on, of, [&](int number) {
    work(on, in, tasks, of, seed + static_cast<std::uint64_t>(number) + 1);
  });
  start_thread(on, of, of.threads, [&] { submit(on, in, tasks, of, seed); });
  on.run(2 * of.duration);
  const double seconds = in_ns(on.now()) / ns_per_s;
  return {{"start_median_ns", quantile(in.starts, 0.5)},
          {"start_p99_ns", quantile(in.starts, 0.99)},
          {"start_max_ns", in_ns(in.longest_start)},
          {"submit_median_ns", quantile(in.submits, 0.5)},
          {"operations_per_s", static_cast<double>(in.tasks) / seconds},
          {"tasks_per_s_in_bursts", quotient(in.tasks, in.in_bursts) * ns * ns_per_s},
          {"gap_cpu_share", quotient(in.used_in_gaps, in.in_gaps * of.threads)},
          {"workers_cpu_per_task_ns", quotient(used_by_all(on, in), in.tasks) / ns}};
}

struct pool {
  std::string_view name;
  named_values (*run)(engine& on, const study_settings& of);
};

constexpr std::array pools{
    pool{"worker_pool[spin]", run_pool<idle::spin>},
    pool{"worker_pool[pause]", run_pool<idle::pause>},
    pool{"worker_pool[yield]", run_pool<idle::yield>},
    pool{"worker_pool[sleep]", run_pool<idle::sleep>},
    pool{"worker_pool[event]", run_pool<idle::event>},
    pool{"worker_pool[spin_then_event]", run_pool<idle::spin_then_event>},
};

}  // namespace

std::span<const subject> pool_subjects() noexcept {
  static const auto all = [] {
    std::array<subject, pools.size()> made{};
    for (std::size_t i = 0; i < pools.size(); ++i) made[i].traits.name = pools[i].name;
    return made;
  }();
  return all;
}

named_values run_workers(engine& on, const subject& pool, const study_settings& of) {
  return std::ranges::find(pools, pool.traits.name, &pool::name)->run(on, of);
}

}  // namespace lockyard::simulation
