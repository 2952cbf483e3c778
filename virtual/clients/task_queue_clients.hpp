// SPDX-License-Identifier: Apache-2.0
#pragma once

// The queue of a worker pool with its workers, from the first task to the end.

#include <checker/registry.hpp>

#include <lockyard/event/task_queue.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace lockyard::checker {

/// The tasks of a queue, and its end.
struct pool_plan {
  std::size_t capacity = 2;
  unsigned tasks = 1;   ///< for each submitter
  unsigned others = 0;  ///< submitters besides the one that ends the pool
  bool has_workers = true;
  bool waits = false;    ///< for all tasks, before the end, which would wake all threads
  bool cancels = false;  ///< takes back what waits
};

/// The first thread submits and then ends the pool; others only submit, and may come too late; the
/// rest are workers. Tasks are numbers; each has plain data, written before it is submitted.
template <class Queue, pool_plan Plan>
class task_queue_client : public model::client {
 public:
  /// Has all of its submitters, and a worker if there are to be any.
  explicit task_queue_client(const model::client_size& size)
      : threads_{std::max(size.threads, Plan.others + (Plan.has_workers ? 2U : 1U))} {}

  [[nodiscard]] unsigned threads() const override { return threads_; }
  /// Workers are alike; submitters have tasks of their own.
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return std::min(index, Plan.others + 1);
  }

  void thread(unsigned index) override {
    if (index > Plan.others) {
      while (const auto each = queue_.pop()) run(*each);
    } else {
      submit(index);
      if (index == 0) end();
    }
  }

  void finish() override {
    for (place& each : places_) {
      const unsigned expected = each.taken.read() ? 1 : 0;
      model::require(each.runs.read() == expected, "every task that was taken runs once");
    }
    model::require(queue_.size() == 0, "nothing is left behind");
  }

 private:
  using push_result = decltype(std::declval<Queue>().try_push(0));
  struct place {
    model::plain_data<unsigned> work{0};
    model::plain_data<unsigned> runs{0};
    model::plain_data<bool> taken{false};
  };

  void submit(unsigned submitter) {
    for (unsigned i = 0; i < Plan.tasks; ++i) {
      const unsigned number = submitter * Plan.tasks + i;
      places_[number].work.write(number + 1);
      // The thread that takes tasks back must get here, whichever thread runs them.
      const bool tries = Plan.cancels && submitter == 0;
      const push_result found = tries ? queue_.try_push(number) : queue_.push(number);
      model::require(tries || found != push_result::full,
                     "a thread that waits for room is not refused");
      model::require(submitter != 0 || found != push_result::closed, "the queue is open");
      places_[number].taken.write(found == push_result::done);
    }
  }

  void end() {
    if (Plan.waits) {
      const auto have_all_run = [](unsigned ran) { return ran == Plan.tasks * (1 + Plan.others); };
      model::model::await(ran_, have_all_run, std::memory_order_relaxed, wait_policies::busy{});
    }
    queue_.close();
    model::require(queue_.try_push(0) == push_result::closed, "closed is final");
    while (Plan.cancels) {
      const auto back = queue_.try_pop();
      if (!back) break;
      run(*back);
    }
  }

  void run(unsigned number) {
    place& mine = places_[number];
    model::require(mine.work.read() == number + 1, "what came before the task is seen");
    mine.runs.write(mine.runs.read() + 1);
    ran_.fetch_add(1, std::memory_order_relaxed);
  }

  unsigned threads_;
  std::array<typename Queue::slot, Plan.capacity> slots_{};
  Queue queue_{slots_};
  std::array<place, std::size_t{1 + Plan.others} * Plan.tasks> places_{};
  model::word<unsigned> ran_{0};
};

template <class Idle>
using model_queue = basic_task_queue<unsigned, Idle, model::model>;

}  // namespace lockyard::checker
