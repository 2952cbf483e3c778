// SPDX-License-Identifier: Apache-2.0

// How soon an idle worker starts a task, and what its waiting costs: bursts of tasks with pauses,
// for lockyard's queue of tasks with each idle policy. docs/studies/workers.md defines the loop.

#include "contenders.hpp"

#include <lockyard/event/task_queue.hpp>

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

template <class Queue>
void work(engine& on, scene& in, Queue& tasks, const study_settings& of, std::uint64_t seed) {
  worker mine{on, of, seed};
  while (const auto next = tasks.pop()) {
    simulated::now();
    const ps start = on.now() - in.submitted[*next];
    mine.work(of.hold);
    simulated::now();
    in.ended = on.now();
    if (in.counts) {
      in.starts.add(static_cast<std::uint64_t>(start / ns));
      in.longest_start = std::max(in.longest_start, start);
      ++in.tasks;
    }
    if (--in.left == 0) in.end.wake(1);
  }
}

ps used_by_all(const engine& on, const scene& in) {
  ps sum = 0;
  for (const thread* each : in.team) sum += on.processor_time(*each);
  return sum;
}

template <class Queue>
void run_burst(engine& on, scene& in, Queue& tasks) {
  in.left = static_cast<int>(in.submitted.size());
  for (std::size_t i = 0; i < in.submitted.size(); ++i) {
    simulated::now();
    in.submitted[i] = on.now();
    if (tasks.push(static_cast<std::uint32_t>(i)) != push_result::done) {
      on.fail("the queue of tasks refused a task");
    }
    simulated::now();
    if (in.counts) in.submits.add(static_cast<std::uint64_t>((on.now() - in.submitted[i]) / ns));
  }
  in.end.sleep_until([&] { return in.left == 0; });
  if (in.counts) in.in_bursts += in.ended - in.submitted[0];
}

template <class Queue>
void submit(engine& on, scene& in, Queue& tasks, const study_settings& of, std::uint64_t seed) {
  random_source chance{seed};
  run_burst(on, in, tasks);
  for (in.counts = true; on.now() < of.duration;) {
    const ps gap =
        of.exponential ? static_cast<ps>(chance.exponential(static_cast<double>(of.gap))) : of.gap;
    const ps began = on.now(), used = used_by_all(on, in);
    if (gap > 0) in.pause.sleep_for(gap);
    in.in_gaps += on.now() - began, in.used_in_gaps += used_by_all(on, in) - used;
    run_burst(on, in, tasks);
  }
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
