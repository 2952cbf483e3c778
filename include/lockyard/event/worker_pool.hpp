// SPDX-License-Identifier: Apache-2.0
#pragma once

// Needs exceptions: tasks may throw, and threads may be refused.

#include <lockyard/detail/durations.hpp>
#include <lockyard/event/event_count.hpp>
#include <lockyard/event/idle.hpp>
#include <lockyard/event/task.hpp>
#include <lockyard/event/task_queue.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace lockyard::inline v0 {

/// The action of a pool's destructor on tasks that no worker has begun.
enum class at_end : std::uint8_t { run_tasks, drop_tasks };

struct worker_pool_options {
  unsigned workers = std::max(std::thread::hardware_concurrency(), 1U);
  /// The number of tasks that may wait; submit() waits where there are more.
  std::size_t capacity = 1024;
  at_end destructor = at_end::run_tasks;
  /// Each worker calls it first, with its number from 0 on: to pin it, to name it. Throws nothing.
  std::function<void(unsigned worker)> on_start{};
  /// The worker whose task has thrown calls it, possibly several workers at once. Throws nothing.
  /// Where it is empty the program ends by std::terminate, as it does for a thread that throws.
  std::function<void(const char* task, std::exception_ptr thrown)> on_exception{};
};

/// A task that a pool did not take, and why.
struct refused_task {
  task work;
  push_result why;
};

/// The state that stop_within() found when it returned.
struct stop_report {
  unsigned workers = 0;              ///< that have not ended
  std::vector<const char*> running;  ///< the names of the tasks that they are in
  std::size_t waiting = 0;           ///< tasks that no worker has begun

  [[nodiscard]] bool has_stopped() const noexcept { return workers == 0; }
};

/// A fixed team of threads that run tasks from one bounded queue, and pass the time between tasks
/// as the idle policy says.
///
/// Use: where the policy matters: how soon a task starts after a pause, and the cost of the pause.
///   One queue serves all workers, first in, first out; the pool is not a work-stealing scheduler,
///   and short tasks spend their time at its mutex.
/// Source: the ways to wait that task schedulers choose from, with an event count in place of the
///   waitable object; docs/events/worker_pool.md compares them.
/// Guarantees: a task that was taken runs once, or comes back from cancel(), or the destructor
///   drops it where the options say so. A task that throws is reported. No lost wake-up: see
///   task_queue.hpp, and `ended_` below.
/// Threads: any thread may call every function, and tasks may too, except for the functions that
///   wait for the end. After fork a child has no workers, and may do nothing with the pool.
///
/// The end. `left_` counts workers; as its last step a worker counts itself out and notifies
/// `ended_`. A thread that waits for the end enters itself there and looks at `left_` again, so the
/// last notification finds it or it finds 0. The pool's memory stays until the destructor has
/// joined the threads, so a worker that has counted itself out may still touch it.
template <class Idle, world W = default_world>
  requires idle::policy<Idle, W>
class basic_worker_pool {
 public:
  /// Preconditions: on_start and on_exception throw nothing.
  /// Effects: starts the workers. Throws std::invalid_argument if there are to be none, or if there
  /// is no room for a task or for more than most_slots; std::system_error if the system refuses a
  /// thread, and then no thread is left; std::bad_alloc.
  explicit basic_worker_pool(worker_pool_options options = {})
      : options_{checked(std::move(options))},
        slots_{std::make_unique<typename queue::slot[]>(options_.capacity)},
        tasks_{{slots_.get(), options_.capacity}},
        running_{std::make_unique<name_word[]>(options_.workers)},
        left_{options_.workers} {
    threads_.reserve(options_.workers);
    try {
      for (unsigned i = 0; i < options_.workers; ++i) threads_.emplace_back([this, i] { work(i); });
    } catch (...) {
      tasks_.close();
      for (std::thread& each : threads_) each.join();
      throw;
    }
  }
  basic_worker_pool(const basic_worker_pool&) = delete;
  basic_worker_pool& operator=(const basic_worker_pool&) = delete;

  /// Preconditions: no other thread is in a call, and this thread is not a worker of the pool.
  /// Effects: takes no more tasks; runs the waiting tasks, or drops them, as `options.destructor`
  /// says; waits until every worker has ended. A task that never ends keeps it forever: see
  /// stop_within().
  ~basic_worker_pool() {
    assert(!is_worker() &&
           "worker_pool: destroyed by one of its own tasks, which waits for itself");
    tasks_.close();
    if (options_.destructor == at_end::drop_tasks) {
      while (const auto each = tasks_.try_pop()) static_cast<void>(task{own(*each)});
    }
    for (std::thread& each : threads_) each.join();
  }

  /// Precondition: the task is not empty.
  /// Effects: queues the task; waits while the queue is full. Returns nothing, or the task if the
  /// pool has been stopped. A task that submits to its own pool, while that pool is full and all
  /// other workers do the same, waits forever: it should try_submit(), and do the work itself if
  /// refused. Synchronisation: everything done before happens before the task runs. Progress: a
  /// worker that ends a task lets one of the waiting submitters go on.
  [[nodiscard]] std::optional<refused_task> submit(task work) noexcept {
    return taken(std::move(work), [this](task::body* each) { return tasks_.push(each); });
  }

  /// As submit(), and does not wait: a task for which there is no room comes back too.
  [[nodiscard]] std::optional<refused_task> try_submit(task work) noexcept {
    return taken(std::move(work), [this](task::body* each) { return tasks_.try_push(each); });
  }

  /// Precondition: the caller is not a worker of the pool.
  /// Effects: takes no more tasks; returns when all tasks that were taken have ended, and the
  /// workers too. Synchronisation: everything that the tasks did happens before the return.
  void drain() noexcept {
    assert(!is_worker() && "worker_pool: one of its own tasks waits for the end of all tasks");
    tasks_.close();
    ended_.await([this] { return has_ended(); });
  }

  /// Effects: takes no more tasks; returns the waiting tasks, and leaves the running ones. Does not
  /// wait. Throws std::bad_alloc, and then the tasks are still there.
  [[nodiscard]] std::vector<task> cancel() {
    tasks_.close();
    std::vector<task> found;
    found.reserve(tasks_.size());  // a closed queue does not grow
    while (const auto each = tasks_.try_pop()) found.emplace_back(own(*each));
    return found;
  }

  /// Precondition: the caller is not a worker of the pool.
  /// Effects: as drain(), but gives up after `patience`. Then the pool goes on with its tasks; the
  /// report names the tasks that run, one of which may never end. A task that began at that very
  /// moment may be missing. A program that cannot end such a task can leave by std::quick_exit, or
  /// never destroy the pool. Throws std::bad_alloc, and the pool goes on stopping.
  /// Synchronisation: as drain() if has_stopped().
  [[nodiscard]] stop_report stop_within(std::chrono::nanoseconds patience) {
    assert(!is_worker() && "worker_pool: one of its own tasks waits for the end of all tasks");
    tasks_.close();
    if (ended_.await_for(patience, [this] { return has_ended(); })) return {};
    // order[some_ended]: acquire; pairs [ends]; the last worker may have ended at this moment.
    stop_report found{
        .workers = left_.load(std::memory_order_acquire), .running = {}, .waiting = tasks_.size()};
    for (unsigned i = 0; i < options_.workers; ++i) {
      // relaxed(hint): a literal's address; the task may end at any time.
      const char* const name = running_[i].is.load(std::memory_order_relaxed);
      if (name != nullptr) found.running.push_back(name);
    }
    return found;
  }

  /// Returns the number of tasks that no worker has begun; other threads may change it at any time.
  [[nodiscard]] std::size_t waiting() const noexcept { return tasks_.size(); }

 private:
  using queue = basic_task_queue<task::body*, Idle, W>;
  /// The name of a worker's task; null between tasks.
  struct alignas(detail::arch::interference_size) name_word {
    atomic<W, const char*> is{nullptr};
  };

  /// Takes ownership of a value from the queue for the thread that took it.
  static std::unique_ptr<task::body> own(task::body* from) noexcept {
    return std::unique_ptr<task::body>{from};
  }

  static worker_pool_options checked(worker_pool_options options) {
    if (options.workers == 0) {
      throw std::invalid_argument{
          "worker_pool: no workers would run no task; ask for one at least"};
    }
    if (options.capacity == 0 || options.capacity > queue::most_slots) {
      throw std::invalid_argument{
          "worker_pool: the capacity is a number of tasks from 1 to 2^31 - 1"};
    }
    return options;
  }

  template <class Push>
  std::optional<refused_task> taken(task work, Push push) noexcept {
    assert(work && "worker_pool: an empty task was submitted");
    std::unique_ptr<task::body> body = work.release();
    const push_result found = push(body.get());
    if (found != push_result::done) return refused_task{task{std::move(body)}, found};
    static_cast<void>(body.release());  // a worker's now, and maybe gone already
    return std::nullopt;
  }

  [[nodiscard]] bool is_worker() const noexcept {
    return std::ranges::find(threads_, std::this_thread::get_id(), &std::thread::get_id) !=
           threads_.end();
  }

  [[nodiscard]] bool has_ended() const noexcept {
    // order[all_ended]: acquire; pairs [ends]; makes the work of the tasks visible.
    return left_.load(std::memory_order_acquire) == 0;
  }

  void work(unsigned self) noexcept {
    if (options_.on_start) options_.on_start(self);
    while (const auto next = tasks_.pop()) run(own(*next), running_[self].is);
    // order[ends]: release; pairs [all_ended, some_ended]; publishes the work of the tasks.
    left_.fetch_sub(1, std::memory_order_release);
    ended_.notify_all();
  }

  template <class Word>
  void run(std::unique_ptr<task::body> next, Word& running) noexcept {
    // relaxed(hint): stop_within() alone reads it; the text it points to was there before the task.
    running.store(next->name, std::memory_order_relaxed);
    try {
      next->run();
    } catch (...) {
      if (!options_.on_exception) std::terminate();  // its handler can see the exception
      options_.on_exception(next->name, std::current_exception());
    }
    next.reset();  // which is the task's affair too
    // relaxed(hint): as above.
    running.store(nullptr, std::memory_order_relaxed);
  }

  const worker_pool_options options_;
  const std::unique_ptr<typename queue::slot[]> slots_;
  queue tasks_;
  const std::unique_ptr<name_word[]> running_;
  atomic<W, std::uint32_t> left_;
  basic_event_count<W> ended_;
  std::vector<std::thread> threads_;
};

template <class Idle = idle::spin_then_event>
using worker_pool = basic_worker_pool<Idle>;

}  // namespace lockyard::inline v0
