// SPDX-License-Identifier: Apache-2.0

// Operations per second of several locks that are used like the kernel's in will-it-scale's lock1,
// lock2, open1 and open2. docs/studies/scale.md defines the workloads.

#include "contenders.hpp"

#include <array>

namespace lockyard::simulation {

namespace {

/// One acquisition of an operation: of a shared lock or the thread's own, with the cache lines that
/// it reads and writes one after the other.
struct section {
  enum class kind : std::uint8_t { table, file, own } lock;
  int reads, writes;
};

struct workload_shape {
  std::string_view name;
  ps think;        ///< per operation, without any lock
  double counted;  ///< operations that will-it-scale counts for one of these
  std::array<section, 5> sections;
  std::size_t section_count;
};

using enum section::kind;

// The think times of harness/studies/scale.cpp: a thread alone takes as long as published.
constexpr std::array shapes{
    workload_shape{"lock1", 425 * ns, 2, {{{own, 0, 1}, {table, 1, 0}, {own, 0, 1}}}, 3},
    workload_shape{"lock2", 430 * ns, 2, {{{file, 0, 1}, {file, 0, 1}}}, 2},
    workload_shape{"open1",
                   650 * ns,
                   1,
                   {{{table, 0, 1}, {file, 0, 1}, {file, 0, 1}, {file, 0, 1}, {table, 0, 1}}},
                   5},
    workload_shape{"open2",
                   685 * ns,
                   1,
                   {{{table, 0, 1}, {own, 0, 1}, {own, 0, 1}, {own, 0, 1}, {table, 0, 1}}},
                   5},
};

struct object {
  object(engine& on, const subject& of) : lock{on, of}, data{on.memory().make<protected_word>()} {}
  lock_object lock;
  exclusion_check excludes;
  protected_word& data;
};

void do_section(engine& on, const section& what, object& in) {
  in.lock.lock();
  in.excludes.enter(on);
  // relaxed(owner): only the lock's owner uses it.
  for (int i = 0; i < what.reads; ++i) in.data.value.load(std::memory_order_relaxed);
  for (int i = 0; i < what.writes; ++i) in.data.add_one();
  in.excludes.leave(on);
  in.lock.unlock();
}

}  // namespace

std::span<const std::string_view> workload_names() noexcept {
  static constexpr std::array names{shapes[0].name, shapes[1].name, shapes[2].name, shapes[3].name};
  return names;
}

named_values run_scale(engine& on, const subject& lock, const study_settings& of) {
  const auto shape = std::ranges::find(shapes, of.workload, &workload_shape::name);
  if (shape == shapes.end()) throw simulation_error{"no workload is named " + of.workload};
  object for_table{on, lock}, for_file{on, lock};
  std::vector<object> for_thread;
  for (int i = 0; i < of.threads; ++i) for_thread.emplace_back(on, lock);
  std::vector<std::uint64_t> operations(for_thread.size());
  const auto think = shape->think / static_cast<ps>(shape->section_count);
  start_threads(on, of, [&](int number) {
    const auto index = static_cast<std::size_t>(number);
    while (on.now() < of.duration) {
      const bool counts = on.now() >= of.warm_up;
      for (std::size_t i = 0; i < shape->section_count; ++i) {
        const section& what = shape->sections[i];
        on.compute(think);
        object& shared = what.lock == table ? for_table : for_file;
        do_section(on, what, what.lock == own ? for_thread[index] : shared);
      }
      if (counts) ++operations[index];
    }
  });
  on.run(of.duration);
  double sum = 0;
  for (const std::uint64_t each : operations) sum += static_cast<double>(each);
  const double seconds = static_cast<double>(of.duration - of.warm_up) / (ns_per_s * ns);
  return {{"operations_per_s", sum * shape->counted / seconds},
          {"fairness", fairness_of(operations)}};
}

}  // namespace lockyard::simulation
