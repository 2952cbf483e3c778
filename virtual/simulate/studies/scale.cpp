// SPDX-License-Identifier: Apache-2.0

// Operations per second of several locks that are used like the kernel's in will-it-scale's lock1,
// lock2, open1 and open2. docs/studies/scale.md defines the workloads.

#include "contenders.hpp"

#include <scale/workloads.hpp>

#include <algorithm>
#include <array>

namespace lockyard::simulation {

namespace {

/// One acquisition of an operation: of a shared lock or the thread's own, with the cache lines that
/// it reads and writes one after the other.
struct section {
  enum class kind : std::uint8_t { table, file, own } lock;
  int reads, writes;
};

using sections = std::array<section, 5>;
using enum section::kind;
using harness::workload_shape;
using harness::workload_shapes;

/// The sections of an operation, as the loops of harness/studies/scale.cpp have them.
sections sections_of(const workload_shape& shape) {
  const section::kind mine = shape.is_apart ? own : file;
  if (!shape.opens && !shape.is_apart) return {{{mine, 0, 1}, {mine, 0, 1}}};
  if (!shape.opens) return {{{mine, 0, 1}, {table, 1, 0}, {mine, 0, 1}}};
  return {{{table, 0, 1}, {mine, 0, 1}, {mine, 0, 1}, {mine, 0, 1}, {table, 0, 1}}};
}

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
  static const auto names = [] {
    std::array<std::string_view, workload_shapes.size()> found;
    std::ranges::transform(workload_shapes, found.begin(), &workload_shape::name);
    return found;
  }();
  return names;
}

named_values run_scale(engine& on, const subject& lock, const study_settings& of) {
  const auto shape = std::ranges::find(workload_shapes, of.workload, &workload_shape::name);
  if (shape == workload_shapes.end()) throw simulation_error{"no workload is named " + of.workload};
  object for_table{on, lock}, for_file{on, lock};
  std::vector<object> for_thread;
  for (int i = 0; i < of.threads; ++i) for_thread.emplace_back(on, lock);
  std::vector<std::uint64_t> operations(for_thread.size());
  const sections all = sections_of(*shape);
  const ps think = to_ps(shape->think_ns) / shape->acquisitions;
  const double counted = shape->opens ? 1 : 2;  // operations that will-it-scale counts for one
  start_threads(on, of, [&](int number) {
    const auto index = static_cast<std::size_t>(number);
    while (on.now() < of.duration) {
      const bool counts = on.now() >= of.warm_up;
      for (std::size_t i = 0; i < shape->acquisitions; ++i) {
        const section& what = all[i];
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
  return {{"operations_per_s", sum * counted / seconds}, {"fairness", fairness_of(operations)}};
}

}  // namespace lockyard::simulation
