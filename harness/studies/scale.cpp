// SPDX-License-Identifier: Apache-2.0

// The throughput of several locks that are used like the kernel's in will-it-scale's lock1, lock2,
// open1 and open2. docs/studies/scale.md gives definition and reading.

#include "../closing_time.hpp"
#include "../random.hpp"
#include "../rate.hpp"
#include "../scale/kernel_calls.hpp"
#include "../scale/objects.hpp"
#include "../scale/think.hpp"
#include "../scale/workloads.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lockyard::harness {

namespace {

/// The objects of one kind, each next to its lock: one for all threads, or one for each.
template <class Object>
class locked_objects {
 public:
  locked_objects(const subject& lock, unsigned count, std::uint64_t seed) {
    for (unsigned i = 0; i < count; ++i) {
      places_.push_back(std::make_unique<arena<Object>>(lock, mixed(seed + i)));
    }
  }

  [[nodiscard]] arena<Object>& of(unsigned thread) const noexcept {
    return *places_[thread % places_.size()];
  }
  [[nodiscard]] std::uint64_t entered() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& each : places_) sum += each->data().books().counter;
    return sum;
  }
  [[nodiscard]] bool are_whole() const noexcept {
    return std::ranges::all_of(places_, [](const auto& each) { return each->data().is_whole(); });
  }

 private:
  std::vector<std::unique_ptr<arena<Object>>> places_;
};

const workload_shape& shape_of(const job& of) {
  return *std::ranges::find(workload_shapes, of.choice("workload"), &workload_shape::name);
}

/// Returns the steps of work before each acquisition.
std::uint32_t think_steps_of(const workload_shape& shape) {
  return harness::think_steps_of(shape.think_ns / shape.acquisitions);
}

/// What the threads of a run share: objects, each next to the lock that protects it.
struct scale_scene {
  scale_scene(const job& of, const workload_shape& shape, const subject& lock)
      : ranges{lock, !shape.opens && shape.is_apart ? of.threads : 1, of.seed},
        files{lock, 1, of.seed + 1},
        directories{lock, shape.opens && shape.is_apart ? of.threads : 1, of.seed + 2},
        closing{{.hold_ns = 0, .gap_ns = shape.think_ns, .kind = lengths::constant}},
        think_steps{think_steps_of(shape)},
        looks_up_files{!shape.opens && shape.is_apart} {}

  locked_objects<range_list> ranges;
  locked_objects<file_table> files;
  locked_objects<directory> directories;
  closing_time closing;
  std::uint32_t think_steps;  ///< before each acquisition
  bool looks_up_files;
};

template <class Lock, class Step>
auto think_then(std::uint32_t think_steps, void* lock, Step step) {
  keep_busy_apart(think_steps);
  const std::lock_guard held{*static_cast<Lock*>(lock)};
  return step();
}

using workload_loop = thread_span(scale_scene& on, unsigned thread, loop_limit limit);

/// Locks a range of a file and unlocks it.
template <class Lock>
[[gnu::noinline]] thread_span lock_loop(scale_scene& on, unsigned thread, loop_limit limit) {
  const std::uint32_t steps = on.think_steps;
  const bool looks_up_files = on.looks_up_files;
  void* const ranges_lock = on.ranges.of(thread).lock();
  range_list& ranges = on.ranges.of(thread).data();
  void* const files_lock = on.files.of(thread).lock();
  file_table& files = on.files.of(thread).data();
  thread_span span{.first = clock::now()};
  for (; span.operations < limit.operations && !on.closing.has_come(span.operations, limit.end);
       ++span.operations) {
    think_then<Lock>(steps, ranges_lock, [&] { ranges.insert(thread); });
    if (looks_up_files) think_then<Lock>(steps, files_lock, [&] { files.look_up(thread, thread); });
    think_then<Lock>(steps, ranges_lock, [&] { ranges.remove(thread); });
  }
  span.last = clock::now();
  return span;
}

/// Opens a file and closes it.
template <class Lock>
[[gnu::noinline]] thread_span open_loop(scale_scene& on, unsigned thread, loop_limit limit) {
  const std::uint32_t steps = on.think_steps;
  void* const files_lock = on.files.of(thread).lock();
  file_table& files = on.files.of(thread).data();
  void* const directory_lock = on.directories.of(thread).lock();
  directory& in = on.directories.of(thread).data();
  thread_span span{.first = clock::now()};
  for (; span.operations < limit.operations && !on.closing.has_come(span.operations, limit.end);
       ++span.operations) {
    const auto file = think_then<Lock>(steps, files_lock, [&] { return files.open(thread); });
    think_then<Lock>(steps, directory_lock, [&] { in.take_reference(thread); });
    think_then<Lock>(steps, directory_lock, [&] { in.look_up(thread); });
    think_then<Lock>(steps, directory_lock, [&] { in.drop_reference(thread); });
    think_then<Lock>(steps, files_lock, [&] { files.close(file, thread); });
  }
  span.last = clock::now();
  return span;
}

struct workload_loops {
  workload_loop* lock;
  workload_loop* open;
};

/// Tells whether each object was entered as often as the operations require.
bool counters_are_exact(const scale_scene& on, const workload_shape& shape,
                        std::uint64_t operations) {
  if (!shape.opens) return on.ranges.entered() == 2 * operations;
  return on.files.entered() == 2 * operations && on.directories.entered() == 3 * operations;
}

/// The system calls that the workloads model, with the kernel's own locks.
constexpr std::string_view kernels = "kernel";
constexpr std::string_view modelled = "modelled";
/// The control that stands for the absence of a lock of ours.
constexpr std::string_view no_lock = "null_lock";

outcome measure_kernel(const job& of, const subject& lock) {
  if (lock.traits.name != no_lock) {
    throw condition_error{"the kernel's calls use the kernel's locks, not " +
                          std::string{lock.traits.name} + "; measure --calls kernel with --locks " +
                          std::string{no_lock}};
  }
  const workload_shape& shape = shape_of(of);
  kernel_files files{of.threads, !shape.opens || !shape.is_apart};
  closing_time closing{{.hold_ns = 0, .gap_ns = shape.think_ns, .kind = lengths::constant}};
  const arena<ownership> unused{lock, of.seed};
  refusal_check refusal{lock, unused.lock()};
  const team_run run = run_team_on(of, refusal, [&](unsigned thread, loop_limit limit) {
    thread_span span{.first = clock::now()};
    for (; span.operations < limit.operations && !closing.has_come(span.operations, limit.end);
         ++span.operations) {
      if (shape.opens) {
        files.open_and_close(thread);
      } else {
        files.lock_and_unlock(shape.is_apart ? thread : 0);
      }
    }
    span.last = clock::now();
    return span;
  });
  outcome result = rate_outcome(of, run, nullptr);
  result.values["think_ns"] = nullptr;
  result.values["think_steps"] = nullptr;
  result.checks = checks_of(lock, refusal, true);
  result.checks["objects"] = files.all_succeeded();
  return result;
}

outcome measure(const job& of, const subject& lock, const workload_loops& all) {
  if (of.choice("calls") == kernels) return measure_kernel(of, lock);
  const workload_shape& shape = shape_of(of);
  scale_scene on{of, shape, lock};
  file_table& files = on.files.of(0).data();
  if (on.looks_up_files) {
    for (unsigned thread = 0; thread < of.threads; ++thread) files.open(thread);
  }
  const bool shares_ranges = !shape.opens && !shape.is_apart;
  refusal_check refusal{lock, shares_ranges ? on.ranges.of(0).lock() : on.files.of(0).lock()};
  const team_run run = run_team_on(of, refusal, [&](unsigned thread, loop_limit limit) {
    return (shape.opens ? all.open : all.lock)(on, thread, limit);
  });
  if (on.looks_up_files) {
    for (unsigned thread = 0; thread < of.threads; ++thread) files.close(thread, thread);
  }
  const ownership& shared = shares_ranges ? on.ranges.of(0).data().books() : files.books();
  outcome result =
      rate_outcome(of, run, on.looks_up_files ? nullptr : &shared, shape.of_shared_lock);
  result.values["think_ns"] = shape.think_ns;
  result.values["think_steps"] = on.think_steps;
  result.checks = checks_of(lock, refusal, counters_are_exact(on, shape, run.operations()));
  result.checks["objects"] = nullptr;
  if (lock.traits.excludes) {
    result.checks["objects"] =
        on.ranges.are_whole() && on.files.are_whole() && on.directories.are_whole();
  }
  return result;
}

struct scale {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {traits, operations_on<Lock>},
                   {.lock = lock_loop<Lock>, .open = open_loop<Lock>});
  }
};

std::vector<listed_choice> workloads() {
  std::vector<listed_choice> listed;
  listed.reserve(workload_shapes.size());
  for (const workload_shape& each : workload_shapes) listed.push_back({.name = each.name});
  return listed;
}

}  // namespace

study scale_study() {
  return {
      .name = "scale",
      .summary =
          "throughput of several locks that are used like the kernel's in will-it-scale's lock1, "
          "lock2, open1 and open2",
      .place = 150,
      .default_run_s = 0.2,
      .default_budget_s = 2,
      .parameters = {{.name = "workload",
                      .type = parameter_type::choice,
                      .summary = "which locks each operation takes, as will-it-scale's tests do",
                      .choices = workloads()},
                     {.name = "calls",
                      .type = parameter_type::choice,
                      .summary =
                          "the model with the lock under test, or the kernel's own system calls "
                          "(with --locks null_lock)",
                      .defaults = {0},
                      .choices = {{.name = modelled}, {.name = kernels}}}},
      .prepare = [](const job& of) { think_steps_of(shape_of(of)); },
      .cells = cells_of<scale>()};
}

}  // namespace lockyard::harness
