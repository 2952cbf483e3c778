// SPDX-License-Identifier: Apache-2.0

// Operations per second of several locks that are used like the kernel's in will-it-scale's lock1,
// lock2, open1 and open2. docs/studies/scale.md defines the workloads.

#include "contenders.hpp"

#include <loops/scale.hpp>
#include <scale/workloads.hpp>

#include <algorithm>
#include <array>

namespace lockyard::simulation {

namespace {

using harness::workload_shape;
using harness::workload_shapes;

/// A lock with the data that it protects.
class object {
 public:
  object(engine& on, const subject& of)
      : on_{&on}, lock_{on, of}, data_{on.memory().make<protected_word>()} {}

  void lock() {
    lock_.lock();
    excludes_.enter(*on_);
  }
  void unlock() {
    excludes_.leave(*on_);
    lock_.unlock();
  }
  // relaxed(owner): only the lock's owner uses it.
  void read() { data_.value.load(std::memory_order_relaxed); }
  void write() { data_.add_one(); }

 private:
  engine* on_;
  lock_object lock_;
  exclusion_check excludes_;
  protected_word& data_;
};

/// A thread in the loops of loops/scale.hpp. Of the lines that a step uses, one is simulated.
class contender {
 public:
  contender(engine& on, const study_settings& of, const workload_shape& shape, object& table,
            object& own, std::uint64_t& operations)
      : on_{on},
        of_{of},
        think_{to_ps(shape.think_ns) / shape.acquisitions},
        looks_up_{shape.is_apart},
        table_{table},
        own_{own},
        operations_{operations} {}

  bool goes_on() {
    began_ = on_.now();
    return began_ < of_.duration;
  }
  void think() { on_.compute(think_); }
  void complete() {
    if (began_ >= of_.warm_up) ++operations_;
  }

  object& ranges_lock() { return own_; }
  void insert_range() { own_.write(); }
  void remove_range() { own_.write(); }

  object& table_lock() { return table_; }
  [[nodiscard]] bool looks_up_file() const { return looks_up_; }
  void look_up_file() { table_.read(); }
  void open_file() { table_.write(); }
  void close_file() { table_.write(); }

  object& directory_lock() { return own_; }
  void take_reference() { own_.write(); }
  void look_up_name() { own_.write(); }
  void drop_reference() { own_.write(); }

 private:
  engine& on_;
  const study_settings& of_;
  ps think_;
  bool looks_up_;
  object& table_;
  object& own_;  ///< the file or directory; all threads have the same one unless they are apart
  std::uint64_t& operations_;
  ps began_ = 0;
};

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
  const double counted = shape->opens ? 1 : 2;  // operations that will-it-scale counts for one
  start_threads(on, of, [&](int number) {
    const auto index = static_cast<std::size_t>(number);
    object& own = shape->is_apart ? for_thread[index] : for_file;
    contender self{on, of, *shape, for_table, own, operations[index]};
    if (shape->opens) {
      harness::loops::open_and_close_files(self);
    } else {
      harness::loops::lock_and_unlock_ranges(self);
    }
  });
  on.run(of.duration);
  double sum = 0;
  for (const std::uint64_t each : operations) sum += static_cast<double>(each);
  const double seconds = static_cast<double>(of.duration - of.warm_up) / (ns_per_s * ns);
  return {{"operations_per_s", sum * counted / seconds}, {"fairness", fairness_of(operations)}};
}

}  // namespace lockyard::simulation
