// SPDX-License-Identifier: Apache-2.0

// The throughput of several locks that are used like the kernel's in will-it-scale's lock1, lock2,
// open1 and open2. docs/studies/scale.md gives definition and reading.

#include "../loops/scale.hpp"
#include "../closing_time.hpp"
#include "../loops/native.hpp"
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

using workload_loop = thread_span(scale_scene& on, unsigned thread, loop_limit limit);

/// A thread in the loops of loops/scale.hpp.
template <class Lock>
struct scale_contender : loops::native_contender {
  bool goes_on() noexcept {
    return span.operations < limit.operations && !closing.has_come(span.operations, limit.end);
  }
  void think() noexcept { keep_busy_apart(think_steps); }
  void complete() noexcept { ++span.operations; }

  Lock& ranges_lock() noexcept { return *static_cast<Lock*>(lock_of_ranges); }
  void insert_range() noexcept { ranges.insert(thread); }
  void remove_range() noexcept { ranges.remove(thread); }

  Lock& table_lock() noexcept { return *static_cast<Lock*>(lock_of_files); }
  [[nodiscard]] bool looks_up_file() const noexcept { return looks_up; }
  void look_up_file() noexcept { files.look_up(thread, thread); }
  void open_file() noexcept { file = files.open(thread); }
  void close_file() noexcept { files.close(file, thread); }

  Lock& directory_lock() noexcept { return *static_cast<Lock*>(lock_of_directory); }
  void take_reference() noexcept { in.take_reference(thread); }
  void look_up_name() noexcept { in.look_up(thread); }
  void drop_reference() noexcept { in.drop_reference(thread); }

  closing_time& closing;
  std::uint32_t think_steps;
  bool looks_up;
  unsigned thread;
  loop_limit limit;
  void* lock_of_ranges;
  range_list& ranges;
  void* lock_of_files;
  file_table& files;
  void* lock_of_directory;
  directory& in;
  unsigned file = 0;  ///< that is open
};

template <class Lock>
scale_contender<Lock> contender_of(scale_scene& on, unsigned thread, loop_limit limit,
                                   thread_span& span) {
  const auto& ranges = on.ranges.of(thread);
  const auto& files = on.files.of(thread);
  const auto& in = on.directories.of(thread);
  return {{span},        on.closing,    on.think_steps, on.looks_up_files, thread,    limit,
          ranges.lock(), ranges.data(), files.lock(),   files.data(),      in.lock(), in.data()};
}

template <class Lock>
[[gnu::noinline]] thread_span lock_loop(scale_scene& on, unsigned thread, loop_limit limit) {
  thread_span span{.first = clock::now()};
  auto self = contender_of<Lock>(on, thread, limit, span);
  loops::lock_and_unlock_ranges(self);
  span.last = clock::now();
  return span;
}

template <class Lock>
[[gnu::noinline]] thread_span open_loop(scale_scene& on, unsigned thread, loop_limit limit) {
  thread_span span{.first = clock::now()};
  auto self = contender_of<Lock>(on, thread, limit, span);
  loops::open_and_close_files(self);
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
          "throughput of several locks, used as the kernel uses its own in will-it-scale's lock1, "
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
