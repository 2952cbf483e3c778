// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pool.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <atomic>
#include <functional>
#include <utility>

namespace lockyard::harness {

/// oneTBB's workers in their own arena, whose tasks belong to a task group. The submitting thread
/// has no slot in the arena. The library starts its threads when there is work for them, and lets
/// them sleep when there has been none for a while.
class tbb_pool final : public pool {
 public:
  explicit tbb_pool(const pool_request& request)
      : most_threads_{tbb::global_control::max_allowed_parallelism,
                      request.workers + std::size_t{1}},
        arena_{static_cast<int>(request.workers), 0},
        places_{arena_, request} {}
  ~tbb_pool() noexcept override {
    arena_.execute([this] { group_.wait(); });
  }

  void submit(shot each) override {
    arena_.enqueue(group_.defer([each] { each(); }));
  }

 private:
  class places final : public tbb::task_scheduler_observer {
   public:
    places(tbb::task_arena& arena, const pool_request& request)
        : task_scheduler_observer{arena},
          workers_{request.workers},
          take_place_{request.take_place} {
      observe(true);
    }
    ~places() override { observe(false); }
    /// A worker that leaves an idle arena and enters it again keeps its place.
    void on_scheduler_entry(bool is_worker) override {
      thread_local bool has_place = false;
      if (!is_worker || std::exchange(has_place, true)) return;
      // relaxed(atomicity): a number for each thread.
      take_place_(placed_.fetch_add(1, std::memory_order_relaxed) % workers_);
    }

   private:
    const unsigned workers_;
    const std::function<void(unsigned)> take_place_;
    std::atomic<unsigned> placed_{0};
  };

  tbb::global_control most_threads_;
  tbb::task_arena arena_;
  places places_;
  tbb::task_group group_;
};

}  // namespace lockyard::harness
